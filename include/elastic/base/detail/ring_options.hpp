// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: the store server includes it.

namespace elastic::detail {

/// How large a ring is.
struct ring_options {
  /// Requests handed to the kernel by one call; more are taken in several calls.
  unsigned entries = 256;
  /// Buffers that the kernel fills with what was received, shared by all sockets; a power of two,
  /// at most 32768. Few are in use at first, and more when they were all full at once.
  unsigned buffers = 1024;
  /// The size of one of them: how much one completion brings at most.
  unsigned buffer_bytes = 4096;
};

}  // namespace elastic::detail
