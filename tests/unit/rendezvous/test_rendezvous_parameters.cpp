// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

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
  parameters.keep_alive_interval = 100'000'000s;
  parameters.keep_alive_max_attempt = 1'000'000;
  CHECK(parameters.settings().silence() == 87'600h);
  parameters.keep_alive_max_attempt = 3;
  CHECK(parameters.settings().silence() == 300'000'000s);
}

TEST_CASE("rendezvous parameters: a setting that is not a number of seconds is named",
          "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  for (const std::string bad : {"", "x", "1x", "0", "-3", "inf", "nan", "1e300", " 5"}) {
    CAPTURE(bad);
    parameters.conf["timeout"] = bad;
    CHECK_THROWS_WITH(parameters.seconds("timeout", 900s),
                      elastic::test::contains_text("conf[\"timeout\"]=" + bad));
  }
}

TEST_CASE("rendezvous parameters: a name of --rdzv-conf sets its field, or else a pair of conf",
          "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  parameters.set("join_timeout", "0.25");
  parameters.set("last_call_timeout", "2");
  parameters.set("keep_alive_interval", "3");
  parameters.set("reconnect_grace", "4");
  parameters.set("keep_alive_max_attempt", "5");
  parameters.set("listen", "own");
  parameters.set("listen", "all");
  const elastic::rendezvous_settings settings = parameters.settings();
  CHECK(settings.join_timeout == 250ms);
  CHECK(settings.last_call_timeout == 2s);
  CHECK(settings.keep_alive_interval == 3s);
  CHECK(settings.reconnect_grace == 4s);
  CHECK(settings.keep_alive_max_attempt == 5);
  CHECK(parameters.conf.size() == 1);
  CHECK(parameters.conf.at("listen") == "all");
}

TEST_CASE("rendezvous parameters: settings of torchrun that have no effect here are accepted",
          "[rendezvous]") {
  const auto log = std::make_shared<elastic::test::log_recorder>();
  elastic::rendezvous_parameters parameters;
  parameters.log = log->log();
  parameters.conf = {{"cas_backoff_max_seconds", "0.5"}, {"close_timeout", "30"},
                     {"heartbeat_timeout", "5"},         {"read_timeout", "60"},
                     {"timeout", "900"},                 {"use_libuv", "1"}};
  const elastic::rendezvous_settings settings = parameters.settings();
  parameters.check_conf(elastic::detail::meeting_settings({}));
  CHECK(log->text().empty());
  CHECK(settings.join_timeout == elastic::rendezvous_settings().join_timeout);
}

TEST_CASE("rendezvous parameters: a setting without effect still needs a possible value",
          "[rendezvous]") {
  for (const char* name : {"cas_backoff_max_seconds", "close_timeout", "use_libuv"}) {
    CAPTURE(name);
    elastic::rendezvous_parameters parameters;
    parameters.conf[name] = "soon";
    CHECK_THROWS_WITH(parameters.settings(),
                      elastic::test::contains_text(fmt::format("conf[\"{}\"]=soon", name)));
  }
}

/// Why the settings are refused.
std::string refusal_of(const elastic::rendezvous_parameters& parameters) {
  try {
    parameters.settings();
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::invalid_argument);
    return failure.what();
  }
  return "accepted";
}

TEST_CASE("rendezvous parameters: a field out of bounds is refused, with what is allowed",
          "[rendezvous]") {
  const auto refusal = [](auto&& change) {
    elastic::rendezvous_parameters parameters;
    change(parameters);
    return refusal_of(parameters);
  };
  using elastic::rendezvous_parameters;
  const std::string seconds = ": a number of seconds over 0 and up to 100000000 is needed";
  CHECK(refusal([](rendezvous_parameters& all) { all.join_timeout = 0s; }) ==
        "rendezvous_parameters::join_timeout=0" + seconds);
  CHECK(refusal([](rendezvous_parameters& all) { all.last_call_timeout = -1s; }) ==
        "rendezvous_parameters::last_call_timeout=-1" + seconds);
  CHECK(refusal([](rendezvous_parameters& all) { all.reconnect_grace = 200'000'000s; }) ==
        "rendezvous_parameters::reconnect_grace=200000000" + seconds);
  CHECK(refusal([](rendezvous_parameters& all) { all.keep_alive_interval = 9ms; }) ==
        "rendezvous_parameters::keep_alive_interval=0.009: at least 0.01 s is needed");
  const std::string exclusion = "rendezvous_parameters::exclude_for ";
  CHECK(refusal([](rendezvous_parameters& all) { all.exclude_for = -1s; })
            .starts_with(exclusion + "-1: 0 to "));
  CHECK(refusal([](rendezvous_parameters& all) {
          all.exclude_for = elastic::limits::exclusion_time + 1s;
        }).starts_with(exclusion));
}

TEST_CASE("rendezvous parameters: numbers of nodes that no job can have are refused",
          "[rendezvous]") {
  const auto refusal = [](int least, int most, std::vector<int> counts = {}) {
    elastic::rendezvous_parameters parameters;
    parameters.min_nodes = least;
    parameters.max_nodes = most;
    parameters.node_counts = std::move(counts);
    return refusal_of(parameters);
  };
  CHECK(refusal(1, elastic::limits::nodes) == "accepted");
  CHECK(refusal(2, 8, {2, 4, 8}) == "accepted");
  CHECK(refusal(3, 2) ==
        "rendezvous_parameters::min_nodes is 3 and rendezvous_parameters::max_nodes is 2: numbers "
        "from 1 to 100000 are needed, the first not over the second");
  for (const auto& [least, most] : {std::pair(0, 0), {0, 2}, {-1, 2}, {1, 100'001}}) {
    CAPTURE(least, most);
    CHECK(refusal(least, most).starts_with("rendezvous_parameters::min_nodes is "));
  }
  CHECK(refusal(2, 8, {2, 8, 4}) ==
        "rendezvous_parameters::node_counts 2,8,4: at most 64 ascending numbers are needed, the "
        "first 2 (rendezvous_parameters::min_nodes) and the last 8 "
        "(rendezvous_parameters::max_nodes)");
  const std::vector<std::vector<int>> bad = {{2, 4, 4, 8}, {1, 8}, {2, 4}, {2, 8, 9}};
  for (const std::vector<int>& counts : bad) {
    CHECK(refusal(2, 8, counts).starts_with("rendezvous_parameters::node_counts "));
  }
}

TEST_CASE("rendezvous parameters: messages name a setting as the program of its user does",
          "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  CHECK(parameters.name_of("run_id") == "rendezvous_parameters::run_id");
  CHECK(parameters.name_of("reconnect_grace") == "rendezvous_parameters::reconnect_grace");
  CHECK(parameters.name_of("listen") == "rendezvous_parameters::conf[\"listen\"]");
  parameters.naming = [](std::string_view setting) { return "job." + std::string(setting); };
  const std::string seconds = ": a number of seconds over 0 and up to 100000000 is needed";
  CHECK_THROWS_WITH(parameters.set("join_timeout", "soon"), "job.join_timeout=soon" + seconds);
  parameters.conf["listen"] = "never";
  CHECK_THROWS_WITH(parameters.listens_everywhere(), "job.listen=never: own or all is needed");
  parameters.node_name = "a node";
  CHECK_THROWS_WITH(parameters.settings(), elastic::test::contains_text("job.node_name 'a node'"));
}

TEST_CASE("rendezvous parameters: a field is refused as a pair of conf, and named",
          "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  parameters.conf["join_timeout"] = "20";
  CHECK_THROWS_WITH(parameters.check_conf({"join_timeout"}),
                    elastic::test::contains_text("rendezvous_parameters::join_timeout"));
}

TEST_CASE("rendezvous parameters: a field that the backend does not use is warned of",
          "[rendezvous]") {
  const auto log = std::make_shared<elastic::test::log_recorder>();
  elastic::rendezvous_parameters parameters;
  parameters.log = log->log();
  parameters.join_timeout = 20s;
  parameters.keep_alive_max_attempt = 5;
  parameters.check_conf({"join_timeout"});
  CHECK(log->count("is not used", elastic::log_level::warning) == 1);
  CHECK(log->count("rendezvous_parameters::keep_alive_max_attempt is not used") == 1);
}

TEST_CASE("rendezvous parameters: a setting of another backend is warned of, without its value",
          "[rendezvous]") {
  const auto log = std::make_shared<elastic::test::log_recorder>();
  elastic::rendezvous_parameters parameters;
  parameters.log = log->log();
  parameters.conf["timeout"] = "1";
  parameters.conf["password"] = "secret";
  parameters.check_conf({"timeout", "read_timeout"});
  CHECK(log->count("rendezvous_parameters::conf[\"password\"] is not used",
                   elastic::log_level::warning) == 1);
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
  const std::string conf = "rendezvous_parameters::conf: ";
  CHECK(refusal("timeuot") ==
        conf + "no backend has a setting 'timeuot'; did you mean timeout?");
  CHECK(refusal("jointimeout") ==
        conf + "no backend has a setting 'jointimeout'; did you mean join_timeout?");
  CHECK(refusal("color") ==
        conf + "no backend has a setting 'color'; 'static' knows: timeout, mine");
  CHECK(refusal("mine") == "accepted");
  CHECK(refusal("lease_ttl") == "accepted");
}

TEST_CASE("rendezvous parameters: one missed keep-alive alone loses no node", "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  parameters.keep_alive_max_attempt = 1;
  CHECK_THROWS_WITH(parameters.settings(),
                    elastic::test::contains_text("a whole number from 2 to 1000000 is needed"));
  parameters.keep_alive_max_attempt = 2;
  CHECK(parameters.settings().keep_alive_max_attempt == 2);
}

}  // namespace rendezvous_parameters_tests
