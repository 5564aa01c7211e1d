// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/proc_snapshot.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/process/detail/proc_file.hpp>
#include <elastic/process/detail/process_tree.hpp>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string proc_snapshot::text() const {
  if (dumps_core) return "writing its core";
  const std::string where = waits_in.empty() ? "" : fmt::format(" ({})", waits_in);
  if (state == 'D') return "in uninterruptible sleep" + where;
  return fmt::format("in state {}{}, with {} MB of memory left", state, where, resident / 1024);
}

ELASTIC_DECL bool is_stuck(const proc_snapshot& before, const proc_snapshot& now) {
  return now.state == 'D' && !now.dumps_core && before == now;
}

/// The state of the thread with this folder in /proc; '?' if it is gone.
inline char state_of_thread(const std::string& folder) {
  const auto entry = parse_process_stat(read_proc_file(folder + "/stat", limits::proc_file_bytes));
  return entry ? entry->state : '?';
}

ELASTIC_DECL std::optional<proc_snapshot> look_at_process(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  const auto entry = parse_process_stat(read_proc_file(folder + "/stat", limits::proc_file_bytes));
  if (!entry || entry->dead()) return std::nullopt;
  proc_snapshot sight;
  sight.state = entry->state;
  std::string thread = folder;
  for (const pid_t number : numbered_entries(folder + "/task")) {
    const std::string other = fmt::format("{}/task/{}", folder, number);
    if (state_of_thread(other) != 'D') continue;
    sight.state = 'D';
    thread = other;
    break;
  }
  sight.waits_in = read_proc_file(thread + "/wchan", limits::proc_file_bytes);
  if (sight.waits_in == "0") sight.waits_in.clear();
  const std::string status = read_proc_file(folder + "/status", limits::proc_file_bytes);
  sight.resident = number_after(status, "VmRSS:").value_or(0);
  sight.dumps_core = number_after(status, "CoreDumping:") == 1U;
  return sight;
}

}  // namespace elastic::detail
