// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/proc_file.hpp>

#include <elastic/base/detail/unique_fd.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <system_error>

namespace elastic::detail {

struct close_directory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

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

ELASTIC_DECL std::optional<std::uint64_t> number_after(std::string_view text,
                                                       std::string_view label) {
  while (!text.starts_with(label)) {
    const std::size_t end = text.find('\n');
    if (end == text.npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  text.remove_prefix(label.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return std::nullopt;
  return number;
}

ELASTIC_DECL std::vector<pid_t> numbered_entries(const std::string& path) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, close_directory> directory(::opendir(path.c_str()));
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t number = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace elastic::detail
