// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/process_tree.hpp>

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/process/detail/proc_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::optional<process_entry> parse_process_stat(std::string_view text) {
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) return std::nullopt;

  std::size_t index = close + 1;
  const auto field = [&]() -> std::string_view {
    const std::size_t first = text.find_first_not_of(" \n", index);
    if (first == text.npos) return {};
    index = std::min(text.find_first_of(" \n", first), text.size());
    return text.substr(first, index - first);
  };
  const auto read = [](std::string_view digits, auto& value) {
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return failure == std::errc() && end == digits.data() + digits.size();
  };

  process_entry entry;
  if (!read(text.substr(0, open), entry.pid)) return std::nullopt;
  const std::string_view state = field();
  if (state.size() != 1) return std::nullopt;
  entry.state = state[0];
  if (!read(field(), entry.parent) || !read(field(), entry.group) ||
      !read(field(), entry.session)) {
    return std::nullopt;
  }
  for (int skipped = 7; skipped < 14; ++skipped) field();
  for (int time = 14; time < 18; ++time) {
    std::uint64_t ticks = 0;
    if (!read(field(), ticks)) return std::nullopt;
    entry.processor_ticks += ticks;
  }
  for (int skipped = 18; skipped < 20; ++skipped) field();
  if (!read(field(), entry.threads)) return std::nullopt;
  field();
  if (!read(field(), entry.start_time)) return std::nullopt;
  return entry;
}

ELASTIC_DECL std::vector<process_entry> select_tree(const std::vector<process_entry>& processes,
                                                    pid_t session,
                                                    const std::vector<pid_t>& roots) {
  std::vector<process_entry> tree;
  std::vector<bool> taken(processes.size(), false);
  const auto take = [&](std::size_t place) {
    taken[place] = true;
    tree.push_back(processes[place]);
  };
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const bool is_root = std::find(roots.begin(), roots.end(), processes[i].pid) != roots.end();
    if (is_root || (session > 0 && processes[i].session == session)) take(i);
  }
  // `tree` grows during the loop: breadth first.
  for (std::size_t next = 0; next < tree.size(); ++next) {
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (!taken[i] && processes[i].parent == tree[next].pid) take(i);
    }
  }
  std::erase_if(tree, [](const process_entry& entry) { return entry.dead(); });
  return tree;
}

// The first `bytes.size()` bytes of a file in /proc; empty if it is gone.
template <std::size_t Size>
std::string_view read_small_file(const char* path, std::array<char, Size>& bytes) {
  const unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  return {bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

ELASTIC_DECL std::optional<process_entry> read_process(pid_t pid) {
  std::array<char, 1024> bytes;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  return parse_process_stat(read_small_file(path.c_str(), bytes));
}

ELASTIC_DECL std::vector<process_entry> read_processes() {
  std::vector<process_entry> processes;
  for (const pid_t pid : numbered_entries("/proc")) {
    if (const auto entry = read_process(pid)) processes.push_back(*entry);
  }
  return processes;
}

template <std::size_t Size>
std::string_view read_command(pid_t pid, std::array<char, Size>& bytes) {
  const std::string path = "/proc/" + std::to_string(pid) + "/cmdline";
  return read_small_file(path.c_str(), bytes);
}

ELASTIC_DECL std::string shown_command(std::string_view text) {
  std::string shown;
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  for (const char byte : text.substr(0, limits::shown_command_bytes)) {
    const auto code = static_cast<unsigned char>(byte);
    if (byte == '\0') {
      shown += ' ';
    } else if (code < 0x20 || code == 0x7f) {
      shown += fmt::format("\\x{:02x}", code);
    } else {
      shown += byte;
    }
  }
  return shown;
}

ELASTIC_DECL std::string shown_command_of(pid_t pid) {
  std::array<char, limits::shown_command_bytes> bytes;
  return shown_command(read_command(pid, bytes));
}

ELASTIC_DECL std::optional<guard_helper> kind_of_helper(pid_t pid) {
  std::array<char, guard_command_bytes> bytes;
  const std::string_view command = read_command(pid, bytes);
  for (int kind = 0; kind < guard_helpers; ++kind) {
    if (command.find(guard_helper_marks[kind]) == command.npos) continue;
    return static_cast<guard_helper>(kind);
  }
  return std::nullopt;
}

ELASTIC_DECL std::vector<pid_t> read_children(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const auto read_list = [&](pid_t thread) {
    const std::string path = tasks + "/" + std::to_string(thread) + "/children";
    const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return;
    std::string text;
    std::array<char, 4096> bytes;
    for (ssize_t size; (size = ::read(file.get(), bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<std::size_t>(size));
    }
    const char* cursor = text.data();
    const char* const end = cursor + text.size();
    while (cursor < end) {
      pid_t child = 0;
      const auto [after, failure] = std::from_chars(cursor, end, child);
      if (failure == std::errc()) children.push_back(child);
      cursor = failure == std::errc() ? after + 1 : cursor + 1;
    }
  };
  // A directory has two links, plus one for each subdirectory: here, one per thread.
  struct stat status{};
  if (::stat(tasks.c_str(), &status) == 0 && status.st_nlink == 3) {
    read_list(pid);
  } else {
    for (const pid_t thread : numbered_entries(tasks)) read_list(thread);
  }
  return children;
}

}  // namespace elastic::detail
