// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// A cgroup with a limit, of version 1 or 2; needs root. `made` is false if the system does not
/// allow it.
class bounded_cgroup {
 public:
  bounded_cgroup(const bounded_cgroup&) = delete;
  bounded_cgroup& operator=(const bounded_cgroup&) = delete;
  ~bounded_cgroup() {
    if (path_.empty()) return;
    // It cannot be removed until its processes have ended; the next one has the same name.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (::rmdir(path_.c_str()) != 0 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
  }

  /// Moves the calling process into it.
  void enter() const {
    std::ofstream members(path_ + "/cgroup.procs");
    members << ::getpid() << std::flush;
    if (!members) throw std::runtime_error("cgroup.procs cannot be written");
  }

  /// The command line that runs a command in it, by way of the shell.
  std::vector<std::string> command(const std::vector<std::string>& words) const {
    std::vector<std::string> all{
        "/bin/sh", "-c", "echo $$ > " + path_ + "/cgroup.procs; exec \"$@\"", "sh"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  bool made = false;

  /// Its path in the file system.
  const std::string& path() const { return path_; }

 protected:
  /// The folder of a controller's cgroups, and the file with the limit.
  struct place {
    std::string root;
    std::string file;
  };

  bounded_cgroup(const std::vector<place>& places, const std::string& limit) {
    const std::string name = fmt::format("elastic_test_{}", ::getpid());
    for (const auto& [root, file] : places) {
      const std::string path = root + name;
      if (::mkdir(path.c_str(), 0755) != 0) continue;
      path_ = path;
      file_ = path + "/" + file;
      made = set(limit);
      if (made) return;
      ::rmdir(path.c_str());
      path_.clear();
    }
  }

  bool set(const std::string& limit) const {
    std::ofstream bound(file_);
    bound << limit << std::flush;
    return static_cast<bool>(bound);
  }

 private:
  std::string path_;
  std::string file_;
};

/// Limits memory, in bytes.
class memory_cgroup : public bounded_cgroup {
 public:
  explicit memory_cgroup(std::size_t limit)
      : bounded_cgroup({{"/sys/fs/cgroup/memory/", "memory.limit_in_bytes"},
                        {"/sys/fs/cgroup/", "memory.max"}},
                       std::to_string(limit)) {}
};

/// Limits the number of processes and threads.
class process_cgroup : public bounded_cgroup {
 public:
  explicit process_cgroup(int limit)
      : bounded_cgroup({{"/sys/fs/cgroup/pids/", "pids.max"},
                        {"/sys/fs/cgroup/unified/", "pids.max"},
                        {"/sys/fs/cgroup/", "pids.max"}},
                       std::to_string(limit)) {}

  /// Changes the limit; the current usage may exceed it.
  void limit(int most) const {
    if (!set(std::to_string(most))) throw std::runtime_error("pids.max cannot be written");
  }
};

}  // namespace elastic::test
