// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/file_tail.hpp>

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/process/detail/lines.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace elastic::detail {

ELASTIC_DECL std::vector<std::string> read_file_tail(const std::string& path) {
  // A process may have put anything there, even a FIFO without a writer.
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  constexpr auto most = static_cast<off_t>(limits::report_stderr_bytes);
  const off_t wanted = std::min(status.st_size, most);
  std::string bytes(static_cast<std::size_t>(wanted), '\0');
  const ssize_t size = ::pread(file.get(), bytes.data(), bytes.size(), status.st_size - wanted);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  line_tail tail;
  tail.keep(bytes);
  return tail.lines();
}

}  // namespace elastic::detail
