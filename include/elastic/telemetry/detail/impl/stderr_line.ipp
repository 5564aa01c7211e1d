// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/detail/stderr_line.hpp>

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace elastic::detail {

ELASTIC_DECL void write_stderr_line(std::string_view line) {
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
