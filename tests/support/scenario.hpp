// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <support/catch.hpp>
#include <support/golden_file.hpp>
#include <support/run_program.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

// Scenarios: tests of a pure machine as text, in tests/scenarios.
//
//   # A sentence that says what the scenario shows.
//   given nodes 1:3; join a b c    ## A remark.
//   cut b; pass 1s
//     a, c: round 0 ends: node b_1_0 is gone
//
// Commands are inputs of the machine. The indented lines after them are all of its outputs since
// the last indented ones; "nothing" is written where there are none. Nobody looks at the outputs of
// a line that begins with "given".
namespace elastic::test {

/// The words of each command in a line. Quotes keep a text together.
inline std::vector<std::vector<std::string>> commands_in(const std::string& line) {
  std::vector<std::vector<std::string>> commands(1);
  std::optional<std::string> word;
  bool is_quoted = false;
  for (const char next : line.substr(0, line.find("##")) + " ") {
    const bool ends_word = !is_quoted && (next == ' ' || next == ';');
    if (ends_word && word) commands.back().push_back(*std::exchange(word, std::nullopt));
    if (ends_word && next == ';') commands.emplace_back();
    if (ends_word) continue;
    if (!word) word.emplace();
    if (next == '"') {
      is_quoted = !is_quoted;
    } else {
      *word += next;
    }
  }
  if (is_quoted) throw std::invalid_argument("the end of a quoted text is missing");
  return commands;
}

inline std::int64_t integer_of(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ec != std::errc() || result.ptr != end)
    throw std::invalid_argument(fmt::format("'{}' is not a number", text));
  return value;
}

/// The duration "1min", "300ms" or "15s+1ns".
inline duration duration_of(const std::string& text) {
  using namespace std::chrono_literals;
  static const std::map<std::string, duration> units = {
      {"ns", 1ns}, {"ms", 1ms}, {"s", 1s}, {"min", 1min}, {"h", 1h}};
  static const std::regex term("([+-]?[0-9]+)(ns|ms|s|min|h)");
  duration sum{};
  std::size_t used = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), term), end; at != end; ++at) {
    sum += std::stoll((*at)[1]) * units.at((*at)[2]);
    used += static_cast<std::size_t>(at->length());
  }
  if (text.empty() || used != text.size())
    throw std::invalid_argument(fmt::format("'{}' is not a duration", text));
  return sum;
}

/// A duration in the same words: "15s", "300ms", "15s+1ns".
inline std::string text_of(duration time) {
  using namespace std::chrono_literals;
  if (time % 1s == 0s) return fmt::format("{}s", time / 1s);
  if (time > 1s) return fmt::format("{}s+{}", time / 1s, text_of(time % 1s));
  if (time % 1ms == 0s) return fmt::format("{}ms", time / 1ms);
  return fmt::format("{}ns", time / 1ns);
}

/// A command of a scenario. What it takes of its arguments is gone; the rest is an error.
class scenario_command {
 public:
  explicit scenario_command(std::vector<std::string> words)
      : name_(std::move(words.front())), rest_(words.begin() + 1, words.end()) {}

  const std::string& name() const { return name_; }
  bool is_empty() const { return rest_.empty(); }

  std::string take() {
    if (rest_.empty()) throw std::invalid_argument(fmt::format("'{}' lacks an argument", name_));
    std::string first = std::move(rest_.front());
    rest_.erase(rest_.begin());
    return first;
  }

  std::vector<std::string> take_all() { return std::exchange(rest_, {}); }

  /// The value of the argument "key=value", or what is given for its absence.
  std::string take_value(const std::string& key, std::string otherwise = {}) {
    for (auto word = rest_.begin(); word != rest_.end(); ++word) {
      if (!word->starts_with(key + "=")) continue;
      otherwise = word->substr(key.size() + 1);
      rest_.erase(word);
      break;
    }
    return otherwise;
  }

 private:
  std::string name_;
  std::vector<std::string> rest_;
};

/// An output to one receiver or several: what is the same for all of them, and the part of each.
struct scenario_output {
  std::string before;
  std::map<std::string, std::string> parts;
  std::string after;

  std::string text() const {
    std::vector<std::string> texts;
    for (const auto& [receiver, part] : parts) texts.push_back(part);
    return fmt::format("{}{}{}", before, fmt::join(texts, ", "), after);
  }
};

/// The outputs of a machine, in their order.
class scenario_outputs {
 public:
  /// The start of each further output, such as "3s later ".
  std::string when;

  void add(const std::string& text) { outputs_.push_back({when + text, {}, {}}); }

  /// Joins equal outputs to several receivers, and keeps the order of those to one.
  void add(scenario_output added) {
    const auto& [receiver, part] = *added.parts.begin();
    added.before = when + added.before;
    for (auto other = outputs_.rbegin(); other != outputs_.rend(); ++other) {
      if (other->parts.count(receiver) != 0) break;
      if (other->before != added.before || other->after != added.after) continue;
      other->parts.emplace(receiver, part);
      return;
    }
    outputs_.push_back(std::move(added));
  }

  std::vector<std::string> take() {
    std::vector<std::string> lines;
    for (const scenario_output& each : std::exchange(outputs_, {})) lines.push_back(each.text());
    return lines;
  }

 private:
  std::vector<scenario_output> outputs_;
};

/// A machine with commands for inputs, and lines of text for outputs.
class scenario_subject {
 public:
  scenario_subject() = default;
  // The commands refer to the subject.
  scenario_subject(const scenario_subject&) = delete;
  scenario_subject& operator=(const scenario_subject&) = delete;
  virtual ~scenario_subject() = default;

  /// The outputs since the last call.
  std::vector<std::string> take_outputs() { return outputs.take(); }

  /// Carries out the commands of a line.
  /// Errors: `std::invalid_argument`, which names what the subject does not know.
  void carry_out(const std::string& line) {
    for (std::vector<std::string>& words : commands_in(line)) {
      if (words.empty()) continue;
      scenario_command command(std::move(words));
      const auto known = commands.find(command.name());
      if (known == commands.end())
        throw std::invalid_argument(fmt::format("there is no command '{}'", command.name()));
      known->second(command);
      if (command.is_empty()) continue;
      throw std::invalid_argument(
          fmt::format("'{}' does not take '{}'", command.name(), command.take()));
    }
  }

 protected:
  std::map<std::string, std::function<void(scenario_command&)>> commands;
  scenario_outputs outputs;
};

struct scenario {
  std::string name;
  /// How many lines of the file come before it.
  std::size_t offset = 0;
  std::vector<std::string> lines;
};

/// The scenarios of a file. Only remarks come before the first one.
/// Errors: `std::invalid_argument`
inline std::vector<scenario> scenarios_in(const std::vector<std::string>& lines) {
  std::vector<scenario> scenarios;
  std::set<std::string> names;
  bool was_title = false;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::string& line = lines[at];
    const bool is_title = line.starts_with("# ");
    if (is_title && !was_title) scenarios.push_back({{}, at, {}});
    if (scenarios.empty() && !line.empty() && !line.starts_with("##"))
      throw std::invalid_argument(fmt::format("line {}: a scenario lacks its sentence", at + 1));
    if (is_title) scenarios.back().name += (was_title ? " " : "") + line.substr(2);
    if (!scenarios.empty()) scenarios.back().lines.push_back(line);
    was_title = is_title;
  }
  for (const scenario& each : scenarios) {
    if (!names.insert(each.name).second)
      throw std::invalid_argument(fmt::format("there are two scenarios '{}'", each.name));
  }
  return scenarios;
}

/// The lines of a scenario with the outputs that its subject has now.
/// Errors: `std::invalid_argument`, which names the line
inline std::vector<std::string> transcript_of(const scenario& told, scenario_subject& subject) {
  const auto is_expected = [](const std::string& line) { return line.starts_with(" "); };
  const auto is_command = [&](const std::string& line) {
    return !line.empty() && line[0] != '#' && !is_expected(line);
  };
  const std::string given = "given ";
  std::vector<std::string> transcript;
  bool has_commands = false;
  for (std::size_t at = 0; at < told.lines.size(); ++at) {
    const std::string& line = told.lines[at];
    if (is_expected(line)) continue;
    transcript.push_back(line);
    if (!is_command(line)) continue;
    has_commands = true;
    const bool is_given = line.starts_with(given);
    try {
      subject.carry_out(is_given ? line.substr(given.size()) : line);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("line {}: {}", told.offset + at + 1, error.what()));
    }
    const bool goes_on = at + 1 < told.lines.size() && is_command(told.lines[at + 1]) &&
                         !told.lines[at + 1].starts_with(given);
    if (goes_on && !is_given) continue;
    std::vector<std::string> outputs = subject.take_outputs();
    if (is_given) continue;
    if (outputs.empty()) outputs.push_back("nothing");
    for (const std::string& output : outputs) transcript.push_back("  " + output);
  }
  if (!has_commands)
    throw std::invalid_argument(fmt::format("line {}: nothing happens", told.offset + 1));
  return transcript;
}

/// Whether tests write the outputs into the scenarios instead of comparing them: with
/// ELASTIC_REWRITE_SCENARIOS=1 in the environment.
inline bool rewrites_scenarios() { return named_program("ELASTIC_REWRITE_SCENARIOS") == "1"; }

/// Checks each scenario of a file in tests/scenarios, with a subject of its own.
inline void check_scenarios(const std::string& file,
                            const std::function<std::unique_ptr<scenario_subject>()>& begin) {
  const std::filesystem::path path =
      std::filesystem::path(ELASTIC_SOURCE_DIR "/tests/scenarios") / file;
  const std::vector<std::string> lines = lines_of(file_text(path));
  const std::vector<scenario> scenarios = scenarios_in(lines);
  REQUIRE_FALSE(scenarios.empty());
  std::vector<std::string> rewritten = lines;
  rewritten.resize(scenarios.front().offset);
  for (const scenario& each : scenarios) {
    if (rewrites_scenarios()) {
      for (const std::string& line : transcript_of(each, *begin())) rewritten.push_back(line);
      continue;
    }
    DYNAMIC_SECTION(each.name) {
      INFO("tests/scenarios/" << file << ":" << each.offset + 1 << ": " << each.name);
      const auto text_of = [&](const std::vector<std::string>& part) {
        // The lines before it count.
        return std::string(each.offset, '\n') + fmt::format("{}\n", fmt::join(part, "\n"));
      };
      const std::string difference =
          difference_of(text_of(each.lines), text_of(transcript_of(each, *begin())));
      INFO("expected and now (CONTRIBUTING.md says how to rewrite it):\n" << difference);
      CHECK(difference.empty());
    }
  }
  if (!rewrites_scenarios()) return;
  std::ofstream(path, std::ios::binary) << fmt::format("{}\n", fmt::join(rewritten, "\n"));
  SUCCEED();
}

}  // namespace elastic::test
