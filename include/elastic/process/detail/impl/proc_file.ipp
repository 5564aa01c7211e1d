// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/proc_file.hpp>

#include <elastic/base/detail/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace elastic::detail {

ELASTIC_DECL std::string read_proc_file(const std::string& path, std::size_t most) {
  std::string text;
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // The kernel gives a page or so at a time.
  std::array<char, 4096> bytes;
  while (file && text.size() < most) {
    const ssize_t size =
        ::read(file.get(), bytes.data(), std::min(bytes.size(), most - text.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace elastic::detail
