// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace rendezvous_parameters_tests {

using namespace std::chrono_literals;

TEST_CASE("rendezvous parameters: a setting in seconds", "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  CHECK(parameters.seconds("timeout", 900s) == 900s);
  parameters.conf["timeout"] = "30";
  CHECK(parameters.seconds("timeout", 900s) == 30s);
  parameters.conf["timeout"] = "0.25";
  CHECK(parameters.seconds("timeout", 900s) == 250ms);
}

TEST_CASE("rendezvous parameters: a setting that is no number of seconds is named",
          "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  for (const std::string bad : {"", "x", "1x", "0", "-3", "inf", "nan", "1e300", " 5"}) {
    CAPTURE(bad);
    parameters.conf["timeout"] = bad;
    CHECK_THROWS_WITH(parameters.seconds("timeout", 900s),
                      elastic::test::contains_text("timeout=" + bad));
  }
}

TEST_CASE("rendezvous parameters: settings that nobody uses are said, with what there is",
          "[rendezvous]") {
  const auto log = std::make_shared<elastic::test::log_recorder>();
  elastic::rendezvous_parameters parameters;
  parameters.log = log->log();
  parameters.conf["timeout"] = "1";
  parameters.conf["timeuot"] = "2";
  parameters.warn_of_unused({"timeout", "read_timeout"});
  CHECK(log->count("timeuot=2", elastic::log_level::warning) == 1);
  CHECK(log->has("timeout, read_timeout"));
  CHECK(log->count("is not used") == 1);
}

}  // namespace rendezvous_parameters_tests
