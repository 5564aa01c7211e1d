// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Writes a line and its end to stderr, in one piece if the kernel allows it. A reader that reads
/// nothing for a second loses the rest of the line: telemetry must not block a job.
inline void write_stderr_line(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd writable{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&writable, 1, 1000) <= 0) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace elastic::detail
