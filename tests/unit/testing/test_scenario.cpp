// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The interpreter of tests/scenarios.

#include <support/catch.hpp>
#include <support/scenario.hpp>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace scenario_tests {

using namespace std::chrono_literals;
using elastic::test::contains_text;
using elastic::test::lines_of;
using elastic::test::scenario_command;
using elastic::test::scenarios_in;

using texts = std::vector<std::string>;

/// A sum, which says what it is after each addition.
class sum_subject : public elastic::test::scenario_subject {
 public:
  sum_subject() {
    commands["add"] = [this](scenario_command& command) {
      const auto times = elastic::test::integer_of(command.take_value("times", "1"));
      sum_ += times * elastic::test::integer_of(command.take());
      outputs.add(fmt::format("sum {}", sum_));
    };
    commands["name"] = [this](scenario_command& command) {
      for (const std::string& name : command.take_all()) outputs.add(name);
    };
    commands["rest"] = [](scenario_command&) {};
  }

 private:
  std::int64_t sum_ = 0;
};

/// What the only scenario of a text says now.
std::string transcript_of(const std::string& text) {
  const auto scenarios = scenarios_in(lines_of(text));
  REQUIRE(scenarios.size() == 1);
  sum_subject sum;
  return fmt::format("{}\n", fmt::join(elastic::test::transcript_of(scenarios[0], sum), "\n"));
}

/// The error of the commands after the title in line 1.
std::string error_of(const std::string& commands) {
  try {
    transcript_of("# A scenario.\n" + commands);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

const std::string right =
    "# Numbers add up.\n"
    "given add 1\n"
    "add 2; add 3 times=2  ## A remark.\n"
    "  sum 3\n"
    "  sum 9\n"
    "rest\n"
    "rest\n"
    "  nothing\n"
    "\n";

TEST_CASE("scenario: one that is right is its own transcript") {
  CHECK(transcript_of(right) == right);
}

TEST_CASE("scenario: a wrong expectation is rewritten, and differs until then") {
  const auto [expected, wrong] = GENERATE(table<std::string, std::string>({
      {"  sum 9\n", "  sum 8\n"},
      {"  sum 9\n", ""},
      {"  sum 9\n", "  sum 9\n  sum 9\n"},
      {"  sum 3\n  sum 9\n", "  nothing\n"},
      {"  nothing\n", ""},
      {"  nothing\n", "  sum 9\n"},
  }));
  std::string text = right;
  text.replace(text.find(expected), expected.size(), wrong);
  CHECK(transcript_of(text) != text);
  CHECK(transcript_of(text) == right);
}

TEST_CASE("scenario: outputs that nobody expects differ") {
  CHECK(transcript_of("# A.\nadd 1\n") == "# A.\nadd 1\n  sum 1\n");
  CHECK(transcript_of("# A.\ngiven add 1\n  sum 1\n") == "# A.\ngiven add 1\n");
  // A line that begins with "given" hides no output of the lines before it.
  CHECK(transcript_of("# A.\nadd 1\ngiven add 2\n") == "# A.\nadd 1\n  sum 1\ngiven add 2\n");
}

TEST_CASE("scenario: an error names the line, and what is not known there") {
  CHECK(error_of("add 1\nsubtract 1") == "line 3: there is no command 'subtract'");
  CHECK(error_of("add 1 tims=3") == "line 2: 'add' does not take 'tims=3'");
  CHECK(error_of("add") == "line 2: 'add' lacks an argument");
  CHECK(error_of("add 1x") == "line 2: '1x' is not a number");
  CHECK(error_of("add 1;; rest; add") == "line 2: 'add' lacks an argument");
  CHECK(error_of("name \"a b") == "line 2: the end of a quoted text is missing");
  CHECK(error_of("## Only a remark.") == "line 1: nothing happens");
}

TEST_CASE("scenario: quotes keep a text together") {
  CHECK(transcript_of("# A.\nname \"a b\" \"\" c\"; \"d\n") ==
        "# A.\nname \"a b\" \"\" c\"; \"d\n  a b\n  \n  c; d\n");
}

TEST_CASE("scenario: each begins with a sentence of its own") {
  const auto scenarios = scenarios_in(lines_of("## Remarks.\n\n# A\n# b.\nrest\n\n# C.\nrest\n"));
  REQUIRE(scenarios.size() == 2);
  CHECK(scenarios[0].name == "A b.");
  CHECK(scenarios[0].offset == 2);
  CHECK(scenarios[0].lines == texts{"# A", "# b.", "rest", ""});
  CHECK(scenarios[1].lines == texts{"# C.", "rest"});
  REQUIRE_THROWS_WITH(scenarios_in(lines_of("\nrest\n# A.\nrest\n")),
                      contains_text("line 2: a scenario lacks its sentence"));
  REQUIRE_THROWS_WITH(scenarios_in(lines_of("# A.\nrest\n\n# A.\nrest\n")),
                      contains_text("there are two scenarios 'A.'"));
}

TEST_CASE("scenario: durations are sums") {
  CHECK(elastic::test::duration_of("15s-1ns") == 15s - 1ns);
  CHECK(elastic::test::duration_of("2h") == 2h);
  for (const std::string wrong : {"", "15", "s", "15s+", "1.5s", "15 s"}) {
    INFO(wrong);
    REQUIRE_THROWS_WITH(elastic::test::duration_of(wrong), contains_text("is not a duration"));
  }
}

}  // namespace scenario_tests
