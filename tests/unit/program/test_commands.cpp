// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/commands/send_command.hpp>
#include <program/commands/status_command.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <chrono>
#include <string>
#include <variant>
#include <vector>

namespace command_tests {

using strings = std::vector<std::string>;

TEST_CASE("command call: which job, and why", "[program]") {
  using kind = elastic::job_command::kind;
  const auto text_of_call = [](kind command_kind, const strings& arguments) {
    const auto result = elasticrun::parse_command_call(command_kind, arguments);
    if (const auto* exit = std::get_if<elastic::early_exit>(&result)) return exit->text;
    const auto& call = std::get<elasticrun::command_call>(result);
    return call.socket + "|" + call.command.reason + "|" +
           std::to_string(call.command.within / std::chrono::milliseconds(1));
  };
  CHECK(text_of_call(kind::drain, {"unix:/run/a"}) == "/run/a||60000");
  CHECK(text_of_call(kind::drain, {"unix:a", "GPU 3", "is hot"}) == "a|GPU 3 is hot|60000");
  CHECK(text_of_call(kind::checkpoint, {"--within", "0.5", "unix:a", "now"}) == "a|now|500");
  const std::string question =
      ": which job? Name the Unix socket that --status was given, as unix:PATH\n";
  CHECK(text_of_call(kind::drain, {}) == "elasticrun: error: drain" + question);
  CHECK(text_of_call(kind::drain, {"9400", "unix:a"}) == "elasticrun: error: drain" + question);
  CHECK(text_of_call(kind::drain, {"--within", "1", "unix:a"}) ==
        "elasticrun: error: drain" + question);
  CHECK(text_of_call(kind::checkpoint, {"--within", "1"}) ==
        "elasticrun: error: checkpoint" + question);
  for (const char* time : {"0", "-1", "nan", "inf", "3601", "1s", ""}) {
    CAPTURE(time);
    CHECK(text_of_call(kind::checkpoint, {"--within", time, "unix:a"}) ==
          std::string("elasticrun: error: --within '") + time +
              "': over 0 and at most 3600 seconds are needed\n");
  }
  CHECK(text_of_call(kind::drain, {"unix:a", std::string(401, 'x')}) ==
        "elasticrun: error: drain: the reason has over 400 bytes\n");
}

TEST_CASE("status command: no log directory tells whether workers run", "[program]") {
  const elastic::test::temporary_directory folder;
  for (const std::string& place : {std::string("9400"), std::string("host:9400"),
                                   std::string("http://host:9400/"), std::string("unix:/s")}) {
    CAPTURE(place);
    const auto result = elasticrun::parse_status_command({"--ready", place}, {});
    CHECK(std::holds_alternative<elasticrun::status_query>(result));
  }
  CHECK(std::holds_alternative<elasticrun::status_query>(
      elasticrun::parse_status_command({folder.path()}, {})));
  for (const auto& result :
       {elasticrun::parse_status_command({"--ready", folder.path()}, {}),
        elasticrun::parse_status_command({"--ready"}, {{"PET_STATUS", folder.path()}})}) {
    REQUIRE(std::holds_alternative<elastic::early_exit>(result));
    const auto& exit = std::get<elastic::early_exit>(result);
    CHECK(exit.code == 2);
    CHECK_THAT(exit.text, elastic::test::contains_text("would be a log directory"));
  }
}

}  // namespace command_tests
