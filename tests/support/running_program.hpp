// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace elastic::test {

/// A program that runs while the test continues. The destructor kills it if it still runs.
///
/// All waits have the same time limit, after which the test fails.
class running_program {
 public:
  /// Starts it with its stdin at /dev/null; `changes` are set in its environment.
  explicit running_program(std::vector<std::string> command,
                           const std::map<std::string, std::string>& changes = {},
                           std::chrono::seconds limit = std::chrono::seconds(180))
      : name_(command[0]), limit_(limit) {
    int pipes[2];
    pid_ = program_parts::start(command, changes, pipes);
    ends_[0] = {pipes[0], POLLIN, 0};
    ends_[1] = {pipes[1], POLLIN, 0};
  }
  running_program(const running_program&) = delete;
  running_program& operator=(const running_program&) = delete;
  ~running_program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    for (const pollfd& end : ends_) {
      if (end.fd >= 0) ::close(end.fd);
    }
  }

  pid_t pid() const { return pid_; }
  /// Sends it a signal, unless it was waited for: -1 would be all processes.
  void signal(int number) const {
    if (pid_ > 0) ::kill(pid_, number);
  }

  /// Stops it until it gets SIGCONT. Returns once it stands still: after the signal alone, its
  /// threads may work on for a moment.
  void stop() const {
    signal(SIGSTOP);
    siginfo_t state{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &state, WSTOPPED | WEXITED | WNOWAIT) == 0);
    REQUIRE(state.si_code == CLD_STOPPED);
  }

  /// Its output so far.
  const std::string& out() const { return texts_[0]; }
  const std::string& err() const { return texts_[1]; }

  /// Waits until `text` has been written `count` times to stdout.
  void await_out(const std::string& text, int count = 1) { await(texts_[0], text, count); }
  /// The same, but each call counts only occurrences that no earlier call has counted.
  void await_fresh_out(const std::string& text, int count) {
    awaited_[text] += count;
    await_out(text, awaited_[text]);
  }
  /// The same for stderr.
  void await_err(const std::string& text, int count = 1) { await(texts_[1], text, count); }

  /// Waits until it and all processes that hold its output have ended.
  program_result wait() {
    const auto deadline = std::chrono::steady_clock::now() + limit_;
    while (is_open()) read_some(deadline, "its end");
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    program_result result;
    result.code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    result.out = texts_[0];
    result.err = texts_[1];
    return result;
  }

 private:
  bool is_open() const { return ends_[0].fd >= 0 || ends_[1].fd >= 0; }

  void await(const std::string& texts, const std::string& part, int count) {
    const auto deadline = std::chrono::steady_clock::now() + limit_;
    while (occurrences(texts, part) < count) {
      if (!is_open()) FAIL(name_ << " never wrote '" << part << "' but\n" << out() << err());
      read_some(deadline, part);
    }
  }

  static int occurrences(const std::string& text, const std::string& part) {
    int count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  void read_some(std::chrono::steady_clock::time_point deadline, const std::string& awaited) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const int ready = ::poll(ends_, 2, std::max(0, static_cast<int>(left.count())));
    if (ready == 0) {
      FAIL("waited " << limit_.count() << " s for " << awaited << " of " << name_
                     << ", which wrote:\n"
                     << out() << err());
    }
    for (int which = 0; which < 2; ++which) {
      if (ends_[which].fd < 0 || ends_[which].revents == 0) continue;
      char part[16 * 1024];
      const ssize_t count = ::read(ends_[which].fd, part, sizeof part);
      if (count > 0) {
        texts_[which].append(part, static_cast<std::size_t>(count));
      } else {
        ::close(ends_[which].fd);
        ends_[which].fd = -1;
      }
    }
  }

  std::string name_;
  std::chrono::seconds limit_;
  pid_t pid_ = -1;
  pollfd ends_[2] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}};
  std::string texts_[2];
  std::map<std::string, int> awaited_;
};

}  // namespace elastic::test
