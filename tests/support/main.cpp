// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Catch2's own signal handlers would intercept the SIGTERM and SIGINT that tests send.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#define CATCH_CONFIG_RUNNER
#include <support/catch.hpp>
#include <support/skip.hpp>

#include <elastic/functions/entrypoint.hpp>

#include <csignal>

int main(int argc, char** argv) {
  // Tests launch this program again to run its own functions.
  if (const auto code = elastic::run_entrypoint()) return *code;
  // Under nohup, the programs that tests start would ignore it, too.
  std::signal(SIGHUP, SIG_DFL);
  const int result = Catch::Session().run(argc, argv);
  if (result != 0) return 1;  // the number of failures, which could equal the code below
  return elastic::test::any_skipped ? elastic::test::skipped_exit_code : 0;
}
