// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/oom_kills.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/process/detail/proc_file.hpp>

#include <algorithm>
#include <cstddef>

namespace elastic::detail {

ELASTIC_DECL std::string cgroup_path(const std::string& file, std::string_view controller) {
  const std::string text = read_proc_file(file, limits::cgroup_file_bytes);
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::size_t names = line.find(':');
    const std::size_t path = line.find(':', names + 1);
    if (names == line.npos || path == line.npos) continue;
    if (line.substr(names + 1, path - names - 1) == controller) {
      return std::string(line.substr(path + 1));
    }
  }
  return {};
}

/// The number after "oom_kill " at the start of a line.
inline std::optional<std::uint64_t> oom_kills_in(const std::string& file) {
  return number_after(read_proc_file(file, limits::cgroup_file_bytes), "oom_kill ");
}

ELASTIC_DECL std::optional<std::uint64_t> count_oom_kills(const std::string& root) {
  const std::string own = root + "/proc/self/cgroup";
  const std::string mounted = root + "/sys/fs/cgroup";
  if (const std::string path = cgroup_path(own, ""); !path.empty()) {
    if (const auto count = oom_kills_in(mounted + path + "/memory.events")) return count;
  }
  if (const std::string path = cgroup_path(own, "memory"); !path.empty()) {
    for (const std::string& folder : {path, std::string()}) {
      const auto count = oom_kills_in(mounted + "/memory" + folder + "/memory.oom_control");
      if (count) return count;
    }
  }
  return oom_kills_in(root + "/proc/vmstat");
}

}  // namespace elastic::detail
