// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/cli/early_exit.hpp>

#include <support/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

namespace early_exit_tests {

/// The end of a process that leaves while its stdout is this descriptor.
struct departure {
  int code = 0;
  std::string err;
};

departure leave_with(int out) {
  int errors[2];
  REQUIRE(::pipe2(errors, O_CLOEXEC) == 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGPIPE, SIG_IGN);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(errors[1], STDERR_FILENO);
    ::_exit(elastic::leave({3, "some help\n", false}));
  }
  REQUIRE(child > 0);
  ::close(errors[1]);
  departure seen;
  char letter = 0;
  while (::read(errors[0], &letter, 1) == 1) seen.err += letter;
  ::close(errors[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  seen.code = WEXITSTATUS(status);
  return seen;
}

TEST_CASE("early exit: a reader that has seen enough is no failure", "[cli]") {
  int pipe[2];
  REQUIRE(::pipe2(pipe, O_CLOEXEC) == 0);
  ::close(pipe[0]);
  const departure seen = leave_with(pipe[1]);
  ::close(pipe[1]);
  CHECK(seen.code == 3);
  CHECK(seen.err.empty());
}

TEST_CASE("early exit: a full disk is a failure, and is named", "[cli]") {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  const departure seen = leave_with(full);
  ::close(full);
  CHECK(seen.code == elastic::exit_unwritten);
  CHECK(seen.err == "elasticrun: error: stdout cannot be written: No space left on device\n");
}

}  // namespace early_exit_tests
