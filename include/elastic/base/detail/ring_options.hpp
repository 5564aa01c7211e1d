// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: the store server includes it.

namespace elastic::detail {

/// The size of a ring.
struct ring_options {
  /// The number of requests that one call submits to the kernel; more take several calls.
  unsigned entries = 256;
  /// The number of buffers for received bytes, which all sockets share; a power of two, at most
  /// 32768. Few are in use at first; more are added whenever all were full at once.
  unsigned buffers = 1024;
  /// The size of a buffer, which is the most that one completion brings.
  unsigned buffer_bytes = 4096;
};

}  // namespace elastic::detail
