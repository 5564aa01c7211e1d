// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/process/detail/signal_number.hpp>
#include <elastic/process/exit_selection.hpp>

#include <support/catch.hpp>

#include <csignal>
#include <string>

namespace exit_selection_tests {

using elastic::exit_selection;
using elastic::exit_status;

TEST_CASE("exit selection: is a list of exit codes and names of signals", "[process]") {
  const auto selection = exit_selection::parse("93,SIGSEGV,0,ABRT");
  CHECK(selection.contains(exit_status::exited(93)));
  CHECK(selection.contains(exit_status::exited(0)));
  CHECK(selection.contains(exit_status::signalled(SIGSEGV, true)));
  CHECK(selection.contains(exit_status::signalled(SIGABRT)));
  CHECK_FALSE(selection.contains(exit_status::exited(SIGSEGV)));
  CHECK_FALSE(selection.contains(exit_status::signalled(93)));
  CHECK_FALSE(selection.contains(exit_status::unknown()));
  CHECK_FALSE(selection.contains(exit_status::guard_lost()));
  CHECK(exit_selection().empty());
  CHECK_FALSE(selection.empty());
}

TEST_CASE("exit selection: what is neither is named", "[process]") {
  for (const std::string text : {"", "256", "-1", "93,", "1 2", "SIGNONE", "sigterm", "0x1"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(exit_selection::parse(text),
                      Catch::Contains("is not an exit code or a signal"));
  }
  CHECK_THROWS_WITH(exit_selection::parse("1,foo,2"), Catch::Contains("'foo'"));
}

TEST_CASE("signal number: every name leads back to its number", "[process]") {
  for (int number = 1; number < 32; ++number) {
    CHECK(elastic::detail::signal_number(elastic::signal_name(number)) == number);
  }
  CHECK_FALSE(elastic::detail::signal_number("SIG"));
  CHECK_FALSE(elastic::detail::signal_number(""));
}

}  // namespace exit_selection_tests
