// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/control/detail/timer_fifo.hpp>

#include <elastic/base/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL int open_timer_fifo(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) {
    if (!S_ISFIFO(status.st_mode)) {
      throw error(errc::file_access,
                  fmt::format("timer file '{}' (TORCHELASTIC_TIMER_FILE) is not a FIFO: "
                              "timers are not watched; name a path that does not exist",
                              path));
    }
    ::unlink(path.c_str());
  }
  int fd = -1;
  if (::mkfifo(path.c_str(), 0600) == 0) {
    // Opened for reading and writing, so that it never reaches its end and clients always find a
    // reader.
    fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  }
  if (fd >= 0) return fd;
  throw error(errc::file_access,
              fmt::format("timer file '{}' (TORCHELASTIC_TIMER_FILE) cannot be made: {}; "
                          "timers are not watched",
                          path, errno_text(errno)));
}

}  // namespace elastic::detail
