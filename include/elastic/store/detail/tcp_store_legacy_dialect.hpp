// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic::detail {

/// How a server distinguishes PyTorch up to 2.0 from 2.1, which use the same bytes for different
/// operations: 7 is WATCH_KEY or DELETE_KEY, 8 is DELETE_KEY or APPEND.
enum class tcp_store_legacy_dialect {
  /// 7 is WATCH_KEY as the first request of a connection and DELETE_KEY later. 8 is DELETE_KEY
  /// until the connection has sent something that only 2.1 knows. Agents and process groups need
  /// neither.
  guess,
  torch_1_13,
  torch_2_1,
};

}  // namespace elastic::detail
