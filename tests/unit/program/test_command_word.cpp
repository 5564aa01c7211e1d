// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/commands/command_word.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace command_word_tests {

using strings = std::vector<std::string>;

std::string word_of(const strings& arguments, const std::string& script = "") {
  const auto is_script = [&](const std::string& name) { return name == script; };
  const elastic::command_line::facts::command* const row =
      elasticrun::find_command(arguments, is_script);
  return row ? row->word : "";
}

TEST_CASE("command word: only the first word, and only if no script has its name", "[program]") {
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

TEST_CASE("command word: what Python could run is a script", "[program]") {
  const elastic::test::temporary_directory folder;
  std::filesystem::create_directory(folder / "empty");
  std::filesystem::create_directory(folder / "package");
  std::ofstream(folder / "package/__main__.py") << "";
  std::ofstream(folder / "file") << "";
  CHECK(elasticrun::is_script(folder / "file"));
  CHECK(elasticrun::is_script(folder / "package"));
  CHECK_FALSE(elasticrun::is_script(folder / "empty"));
  CHECK_FALSE(elasticrun::is_script(folder / "missing"));
}

TEST_CASE("command word: the documents list every command as stable", "[program]") {
  std::ifstream file(ELASTIC_SOURCE_DIR "/docs/stability.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const elastic::command_line::facts::command& row : elasticrun::command_rows()) {
    INFO(row.word);
    CHECK(page.find("`" + row.word + "`") != std::string::npos);
  }
}

}  // namespace command_word_tests
