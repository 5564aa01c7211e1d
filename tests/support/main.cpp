// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Catch2's own handlers would take SIGTERM and SIGINT away from the tests that send them.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#define CATCH_CONFIG_RUNNER
#include <support/catch.hpp>

#include <elastic/worker/entrypoint.hpp>

int main(int argc, char** argv) {
  // Tests launch this program again, to run functions of its own.
  if (const auto code = elastic::run_entrypoint()) return *code;
  return Catch::Session().run(argc, argv);
}
