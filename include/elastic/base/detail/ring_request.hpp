// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace elastic::detail {

/// A request to the kernel.
struct ring_request {
  enum class action { none, accept, receive, send, read, poll };
  action what = action::none;
  int fd = -1;
  char* data = nullptr;
  unsigned size = 0;
  unsigned events = 0;
};

/// The kernel's answer. `who` is the pointer that came with the request; null for a cancellation.
struct ring_answer {
  void* who = nullptr;
  int result = 0;
  bool more = false;
  bool has_buffer = false;
  std::uint16_t buffer = 0;
};

}  // namespace elastic::detail
