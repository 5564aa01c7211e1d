// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/functions/detail/own_functions.hpp>

#include <elastic/base/error.hpp>
#include <elastic/launch/detail/function_preparer.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/launcher.hpp>
#include <support/catch.hpp>

namespace own_functions_tests {

using elastic::detail::prepare_own_function;

TEST_CASE("functions: a program that includes the module has it", "[functions]") {
  CHECK(prepare_own_function.load() == elastic::detail::run_own_function);
}

TEST_CASE("functions: a program without the module is told what it lacks", "[functions]") {
  struct without_module {
    ~without_module() { prepare_own_function = former; }
    elastic::detail::function_preparer former = prepare_own_function.exchange(nullptr);
  } guard;
  elastic::launch_config config;
  config.standalone = true;
  config.workers.function.emplace().name = "train";
  try {
    static_cast<void>(make_agent(config));
    FAIL("it was accepted");
  } catch (const elastic::error& refusal) {
    CHECK(refusal.code() == elastic::errc::invalid_argument);
    CHECK_THAT(refusal.what(), elastic::test::contains_text("'train'") &&
                                   elastic::test::contains_text("include <elastic/functions.hpp>"));
  }
  // Another program may have the function.
  config.workers.program = "/bin/true";
  CHECK_NOTHROW(make_agent(config));
}

}  // namespace own_functions_tests
