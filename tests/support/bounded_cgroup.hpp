// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::test {

/// A memory cgroup of either version. Not `made` if none can be.
class memory_cgroup {
 public:
  explicit memory_cgroup(std::size_t limit) {
    const std::string name = fmt::format("elastic_test_{}", ::getpid());
    for (const auto& [root, file] : {std::pair("/sys/fs/cgroup/memory/", "memory.limit_in_bytes"),
                                     std::pair("/sys/fs/cgroup/", "memory.max")}) {
      const std::string path = root + name;
      if (::mkdir(path.c_str(), 0755) != 0) continue;
      path_ = path;
      std::ofstream bound(path + "/" + file);
      bound << limit << std::flush;
      made = static_cast<bool>(bound);
      if (made) return;
      ::rmdir(path.c_str());
      path_.clear();
    }
  }
  memory_cgroup(const memory_cgroup&) = delete;
  memory_cgroup& operator=(const memory_cgroup&) = delete;
  ~memory_cgroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }

  /// Puts the calling process into it.
  void enter() const {
    std::ofstream members(path_ + "/cgroup.procs");
    members << ::getpid() << std::flush;
    if (!members) throw std::runtime_error("cgroup.procs cannot be written");
  }

  bool made = false;

  /// Where it is in the file system.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace elastic::test
