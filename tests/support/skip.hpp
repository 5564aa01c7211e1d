// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace elastic::test {

/// The exit code of a test program if a test was skipped and none failed; CTest knows it.
inline constexpr int skipped_exit_code = 77;

/// Whether a test of this process was skipped.
inline bool any_skipped = false;

/// Whether everything that tests need must be present, as in CI.
inline bool is_nothing_missing() {
  const char* const value = std::getenv("ELASTIC_NOTHING_MISSING");
  return value != nullptr && std::string_view(value) == "1";
}

namespace skip_list {

// Whether tests/known_skips.txt contains the test case. Each line is "name of the test case | why
// it may be skipped".
inline bool is_known_skip(const std::string& test_case) {
  std::ifstream list(ELASTIC_SOURCE_DIR "/tests/known_skips.txt");
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with(test_case + " | ")) return true;
  }
  return false;
}

}  // namespace skip_list

/// Skips the rest of a test case that cannot run on this machine: `return skip("no root")`.
///
/// CTest then shows the case as skipped, unless a part of it failed. In CI the case fails unless
/// tests/known_skips.txt contains it.
inline void skip(const std::string& reason) {
  const std::string test_case = Catch::getResultCapture().getCurrentTestName();
  if (is_nothing_missing() && !skip_list::is_known_skip(test_case)) {
    FAIL("may not be skipped here (tests/known_skips.txt does not name it): " << reason);
  }
  any_skipped = true;
  std::printf("SKIPPED: %s: %s\n", test_case.c_str(), reason.c_str());
  std::fflush(stdout);
}

}  // namespace elastic::test
