// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <glob.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

/// A core_pattern as a pattern for glob(3): specifiers whose values are known are filled in, the
/// others become "*".
inline std::string core_glob(std::string_view pattern, pid_t pid, bool uses_pid) {
  std::string result;
  bool has_pid = false;
  for (std::size_t index = 0; index < pattern.size(); ++index) {
    const char letter = pattern[index];
    if (letter != '%') {
      if (letter == '*' || letter == '?' || letter == '[' || letter == '\\') result += '\\';
      result += letter;
      continue;
    }
    if (++index == pattern.size()) break;
    switch (pattern[index]) {
      case '%': result += '%'; break;
      case 'p':
        result += std::to_string(pid);
        has_pid = true;
        break;
      default: result += '*';
    }
  }
  if (uses_pid && !has_pid) result += fmt::format(".{}", pid);
  return result;
}

/// The newest file that a glob finds, if it was written at `since` or later.
inline std::string newest_file(const std::string& pattern, std::time_t since) {
  ::glob_t matches{};
  std::string newest;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches) == 0) {
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
      struct stat status{};
      if (::stat(matches.gl_pathv[i], &status) != 0 || !S_ISREG(status.st_mode)) continue;
      if (status.st_mtime < since) continue;
      since = status.st_mtime;
      newest = matches.gl_pathv[i];
    }
  }
  ::globfree(&matches);
  return newest;
}

/// Locates the core dump of a process: the path of the file, or the way to obtain it. Empty if it
/// was not found: the process had changed its directory, or the file is on another machine.
///
/// @param directory  the working directory in which the process was started; empty: this process's
/// @param since      when the process was started, in seconds since 1970
/// @param root       a prefix for /proc
/// Source: core(5).
inline std::string find_core(pid_t pid, const std::string& directory, std::time_t since,
                             const std::string& root = "") {
  std::string pattern;
  std::getline(std::ifstream(root + "/proc/sys/kernel/core_pattern"), pattern);
  if (pattern.starts_with('|')) {
    const std::string program = pattern.substr(1, pattern.find(' ') - 1);
    if (program.find("systemd-coredump") != program.npos) {
      return fmt::format("coredumpctl info {}", pid);
    }
    return fmt::format("given to {}", program);
  }
  int uses_pid = 0;
  std::ifstream(root + "/proc/sys/kernel/core_uses_pid") >> uses_pid;
  std::string path = core_glob(pattern, pid, uses_pid != 0);
  if (path.empty()) return {};
  if (path[0] != '/') {
    std::error_code ignored;
    const auto here = std::filesystem::current_path(ignored);
    path = (here / directory / path).string();
  }
  return newest_file(path, since);
}

}  // namespace elastic::detail
