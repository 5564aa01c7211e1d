// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/process_facts.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/diagnosis/detail/process_texts.hpp>
#include <elastic/process/detail/proc_file.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/detail/tree_usage.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

/// A small file of /proc without the end of its last line.
inline std::string proc_text(const std::string& path) {
  std::string text = read_proc_file(path, limits::proc_file_bytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  return text;
}

/// The number of /proc/PID/task/TID/syscall: "running", "-1 …" or "NUMBER ARGUMENTS …".
inline std::optional<long> system_call_in(std::string_view text) {
  long number = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || number < 0) return std::nullopt;
  return number;
}

inline thread_facts facts_of_thread(const std::string& folder, pid_t id) {
  thread_facts facts;
  facts.id = id;
  facts.name = proc_text(folder + "/comm");
  facts.state = parse_process_state(proc_text(folder + "/stat"));
  facts.wait_channel = parse_wait_channel(proc_text(folder + "/wchan"));
  facts.system_call = system_call_in(proc_text(folder + "/syscall"));
  return facts;
}

ELASTIC_DECL std::optional<process_facts> read_process_facts(pid_t pid, std::size_t most_threads) {
  const auto process = read_process(pid);
  if (!process || process->dead()) return std::nullopt;
  process_facts facts;
  // Enough for 64 loaders of 64 threads each.
  constexpr std::size_t most_files = 8192;
  const auto usage = look_at_tree(pid, most_files);
  if (usage && !usage->is_cut) facts.processor_time = usage->processor_time;
  const std::string tasks = fmt::format("/proc/{}/task/", pid);
  facts.threads.push_back(facts_of_thread(tasks + std::to_string(pid), pid));
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(tasks, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename();
    pid_t id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    if (id == pid) continue;
    facts.is_cut = facts.threads.size() >= most_threads;
    if (facts.is_cut) break;
    facts.threads.push_back(facts_of_thread(entry->path(), id));
  }
  return facts;
}

/// The mask in a line such as "SigBlk:\t0000000000400000".
inline std::uint64_t signal_mask_in(std::string_view status, std::string_view name) {
  const std::size_t index = status.find(name);
  if (index == status.npos) return 0;
  const std::size_t begin = status.find_first_not_of(" \t", index + name.size());
  std::uint64_t mask = 0;
  if (begin != status.npos) {
    std::from_chars(status.data() + begin, status.data() + status.size(), mask, 16);
  }
  return mask;
}

ELASTIC_DECL std::optional<std::uint64_t> unsettled_signals(pid_t pid) {
  const std::string status = proc_text(fmt::format("/proc/{}/status", pid));
  if (status.empty()) return std::nullopt;
  return signal_mask_in(status, "\nSigPnd:") | signal_mask_in(status, "\nShdPnd:") |
         signal_mask_in(status, "\nSigBlk:");
}

ELASTIC_DECL process_state main_thread_state(pid_t pid) {
  return parse_process_state(proc_text(fmt::format("/proc/{0}/task/{0}/stat", pid)));
}

ELASTIC_DECL duration main_thread_time(pid_t pid) {
  // "RAN WAITED SLICES", in ns.
  const std::string text = proc_text(fmt::format("/proc/{0}/task/{0}/schedstat", pid));
  std::int64_t ran = 0;
  std::from_chars(text.data(), text.data() + text.size(), ran);
  return std::chrono::nanoseconds(ran);
}

ELASTIC_DECL bool has_pipe(pid_t pid, ino_t inode) {
  const std::string wanted = fmt::format("pipe:[{}]", inode);
  std::size_t looked_at = 0;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", pid), failure), end;
       !failure && entry != end && looked_at < limits::inspected_descriptors;
       entry.increment(failure), ++looked_at) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry->path(), gone) == wanted) return true;
  }
  return false;
}

}  // namespace elastic::detail
