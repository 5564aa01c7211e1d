// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// Finds processes and descriptors that a test leaves behind. Put its variable into the environment
/// of everything that the test starts:
///
///     leftovers left;
///     environment[left.name] = left.value;
///     …
///     CHECK(left.processes().empty());
///     CHECK(left.descriptors() == 0);
class leftovers {
 public:
  leftovers() {
    elastic::detail::random_source random;
    value = fmt::format("{}_{}", ::getpid(), elastic::detail::random_name(random, 12));
    before_ = count_descriptors();
  }

  const std::string name = "ELASTIC_TEST_MARK";
  std::string value;

  /// The running processes with the mark, except guards, which have their worker's environment.
  std::vector<pid_t> processes() const {
    const std::string mark = name + "=" + value;
    std::vector<pid_t> found;
    for (const elastic::detail::process_entry& entry : elastic::detail::read_processes()) {
      if (entry.dead()) continue;
      const std::string path = fmt::format("/proc/{}/environ", entry.pid);
      if (file_text(path).find(mark) == std::string::npos || is_guard(entry.pid)) continue;
      found.push_back(entry.pid);
    }
    return found;
  }

  static bool is_guard(pid_t pid) {
    return file_text(fmt::format("/proc/{}/comm", pid)) == "elastic-guard\n";
  }

  /// Waits until there are exactly `count` of them, as long as a test may take.
  bool processes_become(std::size_t count) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (processes().size() != count) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  /// How many more descriptors this process has than at the start.
  std::ptrdiff_t descriptors() const { return count_descriptors() - before_; }

  /// Whether this process has a child, a zombie included.
  static bool has_children() {
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  }

 private:
  static std::ptrdiff_t count_descriptors() {
    const std::filesystem::directory_iterator first("/proc/self/fd");
    return std::distance(begin(first), end(first));
  }

  std::ptrdiff_t before_ = 0;
};

}  // namespace elastic::test
