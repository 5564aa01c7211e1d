// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace elastic::detail {

/// What the kernel is asked to do.
struct ring_request {
  enum class action { none, accept, receive, send, read, poll };
  action what = action::none;
  int fd = -1;
  char* data = nullptr;
  unsigned size = 0;
  unsigned events = 0;
};

/// What the kernel answers. `who` is the pointer that came with the request, null for a cancel.
struct ring_answer {
  void* who = nullptr;
  int result = 0;
  bool more = false;
  bool has_buffer = false;
  std::uint16_t buffer = 0;
};

}  // namespace elastic::detail
