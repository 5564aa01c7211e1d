// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/worker_signs.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/process/detail/port_use.hpp>
#include <elastic/process/detail/proc_file.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/detail/tree_usage.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Adds what a process has read and written.
inline void add_transfers(pid_t pid, worker_activity& sum) {
  const std::string text = read_proc_file(fmt::format("/proc/{}/io", pid), limits::proc_file_bytes);
  sum.read += number_after(text, "rchar: ").value_or(0);
  sum.written += number_after(text, "wchar: ").value_or(0);
  sum.writes += number_after(text, "syscw: ").value_or(0);
}

ELASTIC_DECL std::optional<worker_activity> look_at_activity(pid_t root, std::size_t most_files) {
  const std::optional<tree_usage> usage = look_at_tree(root, most_files);
  if (!usage || usage->is_cut) return std::nullopt;
  worker_activity activity;
  activity.processor_time = usage->processor_time;
  activity.processes = usage->processes;
  activity.is_stopped = usage->stopped != 0;
  // `tree` grows during the loop.
  std::vector<pid_t> tree{root};
  for (std::size_t next = 0; next < tree.size() && next < most_files; ++next) {
    add_transfers(tree[next], activity);
    const std::vector<pid_t> children = read_children(tree[next]);
    tree.insert(tree.end(), children.begin(), children.end());
  }
  return activity;
}

// ---- error file ---------------------------------------------------------------------------------

ELASTIC_DECL std::string reported_exception(const std::string& error_file, wall_time since) {
  struct stat about{};
  const bool is_file = ::lstat(error_file.c_str(), &about) == 0 && S_ISREG(about.st_mode);
  if (!is_file) return {};
  const std::optional<error_file_content> content = read_error_file(error_file);
  const bool is_complete = content && !content->unparsable && content->written;
  return is_complete && *content->written >= since ? content->message : std::string();
}

// ---- look ---------------------------------------------------------------------------------------

ELASTIC_DECL task<worker_look> look_at_workers(worker_look asked, wall_time since) {
  const std::function<worker_look()> reading = [asked = std::move(asked), since] {
    worker_look found = asked;
    const std::size_t share =
        limits::watched_files / std::max<std::size_t>(found.signs.size(), 1);
    for (worker_signs& each : found.signs) {
      if (!each.ended) each.activity = look_at_activity(each.pid, share);
      // This takes milliseconds on a host with many connections.
      if (!each.failure || !each.activity) continue;
      each.activity->sends = has_unsent_data(each.pid, share).value_or(false);
    }
    for (auto& [rank, file] : found.errors) file = reported_exception(file, since);
    return found;
  };
  return run_blocking<worker_look>(reading);
}

}  // namespace elastic::detail
