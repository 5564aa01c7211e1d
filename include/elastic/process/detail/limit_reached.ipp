// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/limit_reached.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/process/detail/oom_kills.hpp>
#include <elastic/process/detail/proc_file.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// The process limit and counters of a cgroup.
struct process_count {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;
  std::uint64_t refused = 0;
};

/// Empty if the cgroup has no limit ("max").
inline std::optional<process_count> process_count_of(const std::string& folder) {
  const auto number_in = [&](const char* file, std::string_view label) {
    return number_after(read_proc_file(folder + file, limits::proc_file_bytes), label);
  };
  const auto limit = number_in("/pids.max", "");
  const auto used = number_in("/pids.current", "");
  if (!limit || !used) return std::nullopt;
  return process_count{*limit, *used, number_in("/pids.events", "max ").value_or(0)};
}

/// The first full cgroup from `path` upwards; else the first one that has ever refused a process,
/// since the processes that filled it may have ended.
inline std::string full_cgroup(const std::string& mount, std::string path) {
  std::string refusing;
  for (;;) {
    if (const auto count = process_count_of(mount + path)) {
      const std::string text =
          fmt::format("; the cgroup {} may have {} processes and threads (pids.max)",
                      path.empty() ? "/" : path, count->limit);
      if (count->used >= count->limit) return text;
      if (refusing.empty() && count->refused > 0) refusing = text;
    }
    if (path.empty()) return refusing;
    path.resize(path.rfind('/'));
  }
}

inline std::string full_process_table(const std::string& root) {
  const std::string own = root + "/proc/self/cgroup";
  const std::string mounted = root + "/sys/fs/cgroup";
  for (const auto& [mount, path] : {std::pair(mounted, cgroup_path(own, "")),
                                    std::pair(mounted + "/pids", cgroup_path(own, "pids"))}) {
    if (!path.starts_with('/')) continue;
    if (std::string full = full_cgroup(mount, path); !full.empty()) return full;
  }
  // RLIMIT_NPROC does not apply to root.
  rlimit limit{};
  if (::geteuid() == 0 || ::getrlimit(RLIMIT_NPROC, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY) {
    return {};
  }
  return fmt::format("; this user may have {} processes and threads (ulimit -u)", limit.rlim_cur);
}

ELASTIC_DECL std::string limit_reached(int number, const std::string& root) {
  if (number == EAGAIN) return full_process_table(root);
  rlimit limit{};
  if (number != EMFILE || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return fmt::format("; this process may have {} open files (ulimit -n)", limit.rlim_cur);
}

}  // namespace elastic::detail
