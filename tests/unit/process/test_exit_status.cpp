// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/process/exit_status.hpp>
#include <support/catch.hpp>

#include <csignal>

namespace elastic {
namespace {

TEST_CASE("exit_status: an exit code is not a signal", "[process]") {
  const exit_status exit_nine = exit_status::exited(9);
  const exit_status sigkill_end = exit_status::signalled(SIGKILL);
  CHECK(exit_nine.code() == 9);
  CHECK_FALSE(exit_nine.signal());
  CHECK(sigkill_end.signal() == SIGKILL);
  CHECK_FALSE(sigkill_end.code());
  CHECK_FALSE(exit_nine == sigkill_end);
}

TEST_CASE("exit_status: success is exit code 0 and nothing else", "[process]") {
  CHECK(exit_status::exited(0).is_success());
  CHECK_FALSE(exit_status::exited(1).is_success());
  CHECK_FALSE(exit_status::signalled(SIGTERM).is_success());
  CHECK_FALSE(exit_status::unknown().is_success());
}

TEST_CASE("exit_status: the one number that Python shows", "[process]") {
  for (int code = 0; code < 256; ++code) CHECK(exit_status::exited(code).as_python() == code);
  for (int number = 1; number <= 64; ++number) {
    CHECK(exit_status::signalled(number).as_python() == -number);
  }
  CHECK(exit_status::unknown().as_python() == 255);
}

TEST_CASE("exit_status: says in words how it ended", "[process]") {
  CHECK(exit_status::exited(3).text() == "exit code 3");
  CHECK(exit_status::signalled(SIGKILL).text() == "SIGKILL");
  CHECK(exit_status::signalled(SIGSEGV, true).text() == "SIGSEGV (core dumped)");
  CHECK(exit_status::signalled(42).text() == "signal 42");
  CHECK(exit_status::unknown().text() ==
        "unknown status (taken by this process itself, or SIGCHLD is ignored)");
}

}  // namespace
}  // namespace elastic
