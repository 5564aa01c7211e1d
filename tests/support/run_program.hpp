// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/skip.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::test {

/// A directory of one test; the destructor removes it with its content.
class temporary_directory {
 public:
  temporary_directory() : temporary_directory(std::filesystem::temp_directory_path()) {}
  explicit temporary_directory(const std::filesystem::path& parent) {
    std::string pattern = (parent / "elastic_test_XXXXXX").string();
    if (!::mkdtemp(pattern.data())) FAIL("no temporary directory can be made");
    path_ = pattern;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// The content of a file. If the file vanishes meanwhile, as files of /proc do, the part that could
/// be read.
inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  char part[4096];
  do {
    in.read(part, sizeof part);
    text.append(part, static_cast<std::size_t>(in.gcount()));
  } while (in);
  return text;
}

/// The exit status and the output of a program.
struct program_result {
  /// The exit code, or the negative signal number.
  int code = 0;
  std::string out;
  std::string err;
};

namespace program_parts {

inline std::vector<std::string> changed_environment(
    const std::map<std::string, std::string>& changes) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (changes.count(text.substr(0, text.find('='))) == 0) entries.push_back(text);
  }
  for (const auto& [name, value] : changes) entries.push_back(name + "=" + value);
  return entries;
}

inline std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// Reads both pipes to their ends; false if the time ran out first.
inline bool read_both(int (&pipes)[2], std::string* (&texts)[2],
                      std::chrono::steady_clock::time_point deadline) {
  pollfd waits[2] = {{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}};
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(waits, 2, static_cast<int>(left.count())) == 0) return false;
    for (int which = 0; which < 2; ++which) {
      if (waits[which].fd < 0 || waits[which].revents == 0) continue;
      char part[16 * 1024];
      const ssize_t count = ::read(waits[which].fd, part, sizeof part);
      if (count > 0)
        texts[which]->append(part, static_cast<std::size_t>(count));
      else
        waits[which].fd = -1;
    }
  }
  return true;
}

/// Starts a program with its stdin at /dev/null, and the ends of `pipes` at its stdout and stderr.
inline pid_t start(std::vector<std::string>& command,
                   const std::map<std::string, std::string>& changes, int (&pipes)[2]) {
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) FAIL("no pipe can be made");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  std::vector<std::string> environment = changed_environment(changes);
  pid_t pid = 0;
  const int failure = ::posix_spawnp(&pid, command[0].c_str(), &actions, nullptr,
                                     pointers(command).data(), pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  if (failure != 0) {
    ::close(out[0]);
    ::close(err[0]);
    FAIL("cannot start " << command[0]);
  }
  pipes[0] = out[0];
  pipes[1] = err[0];
  return pid;
}

}  // namespace program_parts

/// Runs a program to its end with its stdin at /dev/null. `changes` are set in its environment.
///
/// Fails the test if the program cannot be started, or if it, or a process that holds its output,
/// still runs after `limit`; the program is then killed.
inline program_result run_program(std::vector<std::string> command,
                                  const std::map<std::string, std::string>& changes = {},
                                  std::chrono::seconds limit = std::chrono::seconds(300)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  int pipes[2];
  const pid_t pid = program_parts::start(command, changes, pipes);
  program_result result;
  std::string* texts[2] = {&result.out, &result.err};
  const bool ended = program_parts::read_both(pipes, texts, deadline);
  if (!ended) ::kill(pid, SIGKILL);
  ::close(pipes[0]);
  ::close(pipes[1]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  result.code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  if (!ended) {
    FAIL(command[0] << " or what it started still runs after " << limit.count() << " s; it wrote:\n"
                    << result.out << result.err);
  }
  return result;
}

/// The value of an environment variable; empty if it is not set.
inline std::string named_program(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : "";
}

/// The interpreter with PyTorch 2.13: ELASTIC_TEST_PYTHON, if ELASTIC_TEST_PYTHON_113 names another
/// one or is "missing". If there is none, the result is empty and the test is skipped: it must
/// return.
inline std::string torch_213_python() {
  const std::string python = named_program("ELASTIC_TEST_PYTHON");
  const std::string old = named_program("ELASTIC_TEST_PYTHON_113");
  if (!old.empty() && python != old) return python;
  skip("it takes a Python with torch 2.13");
  return "";
}

/// The interpreter with PyTorch 1.13: that of ELASTIC_TEST_PYTHON_113, or the only one. The test
/// fails if there is none. If the environment has ELASTIC_ALLOW_NO_TORCH=1, or only an interpreter
/// with 2.13 exists, the result is empty and the test is skipped: it must return.
inline std::string torch_python() {
  if (named_program("ELASTIC_TEST_PYTHON_113") == "missing") {
    skip("it takes a Python with torch 1.13");
    return "";
  }
  for (const char* variable : {"ELASTIC_TEST_PYTHON_113", "ELASTIC_TEST_PYTHON"}) {
    const std::string python = named_program(variable);
    if (!python.empty()) return python;
  }
  const char* allowed = std::getenv("ELASTIC_ALLOW_NO_TORCH");
  if (allowed == nullptr || std::string_view(allowed) != "1") {
    FAIL(
        "no Python can import torch: set ELASTIC_TEST_PYTHON to one that can, or "
        "ELASTIC_ALLOW_NO_TORCH=1 to do without");
  }
  skip("it takes a Python with torch");
  return "";
}

}  // namespace elastic::test
