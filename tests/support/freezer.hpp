// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>

namespace elastic::test {

/// A freezer cgroup (version 1). Like a process that waits for a device, a frozen process sleeps
/// uninterruptibly and survives even SIGKILL. `made` is false if the system does not allow one.
class freezer {
 public:
  freezer() : path_(fmt::format("/sys/fs/cgroup/freezer/elastic_test_{}", ::getpid())) {
    made = ::mkdir(path_.c_str(), 0755) == 0 &&
           ::access((path_ + "/freezer.state").c_str(), W_OK) == 0;
  }
  freezer(const freezer&) = delete;
  freezer& operator=(const freezer&) = delete;
  ~freezer() {
    if (!made) return;
    thaw();
    // It cannot be removed until its processes have ended.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (::rmdir(path_.c_str()) != 0 && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
  }

  void freeze(pid_t pid) const {
    write("cgroup.procs", std::to_string(pid));
    write("freezer.state", "FROZEN");
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (state() != "FROZEN" && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
  }
  void thaw() const { write("freezer.state", "THAWED"); }

  bool made = false;

 private:
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(path_ + "/" + file) << text << std::flush;
  }
  std::string state() const {
    std::string word;
    std::ifstream(path_ + "/freezer.state") >> word;
    return word;
  }

  std::string path_;
};

}  // namespace elastic::test
