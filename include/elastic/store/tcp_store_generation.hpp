// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic {

/// The wire formats of PyTorch's TCPStore. This library's server supports all three on one port; a
/// client must know which one its server understands.
enum class tcp_store_generation {
  /// PyTorch 1.x up to 2.0.
  torch_1_13,
  /// PyTorch 2.1.
  torch_2_1,
  /// PyTorch 2.2 and later, and this library's server.
  torch_2_2,
  /// The client detects it, at the cost of a connection (see `tcp_store`).
  probe,
};

}  // namespace elastic
