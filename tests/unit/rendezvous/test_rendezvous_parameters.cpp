// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
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

TEST_CASE("rendezvous parameters: a silence for which no clock is long enough is ten years",
          "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  parameters.conf["keep_alive_interval"] = "1e8";
  parameters.conf["keep_alive_max_attempt"] = "1000000";
  CHECK(parameters.settings().silence() == 87'600h);
  parameters.conf["keep_alive_max_attempt"] = "3";
  CHECK(parameters.settings().silence() == 300'000'000s);
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

TEST_CASE("rendezvous parameters: a setting of another backend is warned of, without its value",
          "[rendezvous]") {
  const auto log = std::make_shared<elastic::test::log_recorder>();
  elastic::rendezvous_parameters parameters;
  parameters.log = log->log();
  parameters.conf["timeout"] = "1";
  parameters.conf["password"] = "secret";
  parameters.check_conf({"timeout", "read_timeout"});
  CHECK(log->count("--rdzv-conf password is not used", elastic::log_level::warning) == 1);
  CHECK(log->has("timeout, read_timeout"));
  CHECK(log->count("is not used") == 1);
  CHECK_FALSE(log->has("secret"));
}

TEST_CASE("rendezvous parameters: a setting that no backend has is refused, with the nearest",
          "[rendezvous]") {
  const auto refusal = [](const char* name) {
    elastic::rendezvous_parameters parameters;
    parameters.conf[name] = "3";
    try {
      parameters.check_conf({"timeout", "mine"});
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == elastic::errc::invalid_argument);
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal("timeuot") ==
        "--rdzv-conf: no backend has a setting 'timeuot'; did you mean timeout?");
  CHECK(refusal("jointimeout") ==
        "--rdzv-conf: no backend has a setting 'jointimeout'; did you mean join_timeout?");
  CHECK(refusal("color") ==
        "--rdzv-conf: no backend has a setting 'color'; 'static' knows: timeout, mine");
  CHECK(refusal("mine") == "accepted");
  CHECK(refusal("lease_ttl") == "accepted");
}

TEST_CASE("rendezvous parameters: one missed keep-alive alone loses no node", "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  parameters.conf["keep_alive_max_attempt"] = "1";
  CHECK_THROWS_WITH(parameters.settings(),
                    elastic::test::contains_text("a whole number from 2 to 1000000 is needed"));
  parameters.conf["keep_alive_max_attempt"] = "2";
  CHECK(parameters.settings().keep_alive_max_attempt == 2);
}

}  // namespace rendezvous_parameters_tests
