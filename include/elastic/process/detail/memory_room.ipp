// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/memory_room.hpp>

#include <elastic/process/detail/oom_kills.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// The number after a name at the start of a line.
inline std::optional<std::uint64_t> number_named(const std::string& file, std::string_view wanted) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t number = 0;
    if (words >> name && name == wanted && words >> number) return number;
  }
  return std::nullopt;
}

inline std::optional<std::uint64_t> number_in(const std::string& file) {
  std::ifstream text(file);
  std::uint64_t number = 0;
  if (text >> number) return number;
  return std::nullopt;  // "max", too
}

/// What is left of a cgroup's limit. Clean file pages count as free: the kernel can reclaim them.
inline std::optional<std::uint64_t> available_in(const std::string& folder) {
  const auto limit = number_in(folder + "/memory.max");
  const auto used = number_in(folder + "/memory.current");
  if (!limit || !used) return std::nullopt;
  const auto clean = number_named(folder + "/memory.stat", "inactive_file").value_or(0);
  const std::uint64_t kept = *used - std::min(clean, *used);
  return *limit - std::min(kept, *limit);
}

/// The least of a number of the machine, in KiB, and one of each cgroup above this process.
template <class OfGroup>
std::optional<std::uint64_t> least_memory(const std::string& root, std::string_view of_machine,
                                          OfGroup of_group) {
  constexpr std::uint64_t kib = 1024;
  auto least = number_named(root + "/proc/meminfo", of_machine);
  if (least) *least *= kib;
  std::string path = cgroup_path(root + "/proc/self/cgroup", "");
  while (!path.empty()) {
    const std::optional<std::uint64_t> own = of_group(root + "/sys/fs/cgroup" + path);
    if (own) least = std::min(*own, least.value_or(*own));
    path.resize(std::min(path.rfind('/'), path.size() - 1));
  }
  return least;
}

ELASTIC_DECL std::optional<std::uint64_t> available_memory(const std::string& root) {
  return least_memory(root, "MemAvailable:", available_in);
}

ELASTIC_DECL std::optional<std::uint64_t> whole_memory(const std::string& root) {
  return least_memory(root, "MemTotal:", [](const std::string& folder) {
    return number_in(folder + "/memory.max");
  });
}

ELASTIC_DECL std::uint64_t memory_of(pid_t pid, const std::string& root) {
  std::ifstream pages(fmt::format("{}/proc/{}/statm", root, pid));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  if (!(pages >> size >> resident >> shared) || shared > resident) return 0;
  return (resident - shared) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace elastic::detail
