// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/detail/command_word.hpp>

#include <elastic/launch/detail/send_command.hpp>
#include <elastic/launch/detail/status_command.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

namespace command_word_tests {

using strings = std::vector<std::string>;

std::string word_of(const strings& arguments, const std::string& script = "") {
  const auto is_script = [&](const std::string& name) { return name == script; };
  const elastic::detail::command_row* const row =
      elastic::detail::find_command(arguments, is_script);
  return row ? row->word : "";
}

TEST_CASE("command word: only the first word, and only if no script has its name", "[launch]") {
  const auto [arguments, script, word] = GENERATE(table<strings, std::string, std::string>({
      {{}, "", ""},
      {{"explain", "logs"}, "", "explain"},
      {{"trace", "logs"}, "", "trace"},
      {{"explain"}, "", "explain"},
      {{"status"}, "", "status"},
      {{"status", "8080"}, "status", ""},
      {{"explain", "logs"}, "explain", ""},
      {{"explain", "logs"}, "trace", "explain"},
      {{"./explain", "logs"}, "", ""},
      {{"Explain"}, "", ""},
      {{"explain.py"}, "", ""},
      {{"train.py", "explain"}, "", ""},
      {{"--standalone", "explain"}, "", ""},
      {{"-m", "trace"}, "", ""},
      {{"--", "trace"}, "", ""},
      {{""}, "", ""},
  }));
  CAPTURE(arguments, script);
  CHECK(word_of(arguments, script) == word);
}

TEST_CASE("command word: what Python could run is a script", "[launch]") {
  const elastic::test::temporary_directory folder;
  std::filesystem::create_directory(folder / "empty");
  std::filesystem::create_directory(folder / "package");
  std::ofstream(folder / "package/__main__.py") << "";
  std::ofstream(folder / "file") << "";
  CHECK(elastic::detail::is_script(folder / "file"));
  CHECK(elastic::detail::is_script(folder / "package"));
  CHECK_FALSE(elastic::detail::is_script(folder / "empty"));
  CHECK_FALSE(elastic::detail::is_script(folder / "missing"));
}

TEST_CASE("command call: which job, and why", "[launch]") {
  using kind = elastic::job_command::kind;
  const auto text_of_call = [](kind command_kind, const strings& arguments) {
    const auto result = elastic::detail::parse_command_call(command_kind, arguments);
    if (const auto* exit = std::get_if<elastic::early_exit>(&result)) return exit->text;
    const auto& call = std::get<elastic::detail::command_call>(result);
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

TEST_CASE("status command: no log directory tells whether workers run", "[launch]") {
  const elastic::test::temporary_directory folder;
  for (const std::string& place : {std::string("9400"), std::string("host:9400"),
                                   std::string("http://host:9400/"), std::string("unix:/s")}) {
    CAPTURE(place);
    const auto result = elastic::detail::parse_status_command({"--ready", place}, {});
    CHECK(std::holds_alternative<elastic::detail::status_query>(result));
  }
  CHECK(std::holds_alternative<elastic::detail::status_query>(
      elastic::detail::parse_status_command({folder.path()}, {})));
  for (const auto& result :
       {elastic::detail::parse_status_command({"--ready", folder.path()}, {}),
        elastic::detail::parse_status_command({"--ready"}, {{"PET_STATUS", folder.path()}})}) {
    REQUIRE(std::holds_alternative<elastic::early_exit>(result));
    const auto& exit = std::get<elastic::early_exit>(result);
    CHECK(exit.code == 2);
    CHECK_THAT(exit.text, elastic::test::contains_text("would be a log directory"));
  }
}

}  // namespace command_word_tests
