// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The parsed arguments of a Python interpreter.
struct python_command {
  /// The interpreter's own options, such as "-u".
  std::vector<std::string> flags;
  enum class kind { script, module, code };
  kind what = kind::script;
  /// The script's path or the module's name; empty for code.
  std::string name;
};

/// Parses the arguments. Result: empty if the interpreter would run none of these, or an argument
/// is unknown.
inline std::optional<python_command> parse_python_command(
    const std::vector<std::string>& arguments) {
  using kind = python_command::kind;
  constexpr std::string_view plain = "bBdEIiOPqRsSuvx";
  python_command command;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with('-')) {
      if (argument.empty()) return std::nullopt;
      command.name = argument;
      return command;
    }
    command.flags.push_back(argument);
    if (argument == "--check-hash-based-pycs") {
      if (++i == arguments.size()) return std::nullopt;
      command.flags.push_back(arguments[i]);
      continue;
    }
    const std::size_t index = argument.find_first_not_of(plain, 1);
    if (index == std::string::npos && argument.size() > 1) continue;
    const char letter = index == std::string::npos ? '-' : argument[index];
    if (letter != 'W' && letter != 'X' && letter != 'm' && letter != 'c') return std::nullopt;
    // The option's value is the rest of the argument or else the next argument.
    const bool is_apart = index + 1 == argument.size();
    if (is_apart && ++i == arguments.size()) return std::nullopt;
    if (letter == 'W' || letter == 'X') {
      if (is_apart) command.flags.push_back(arguments[i]);
      continue;
    }
    command.flags.back().resize(index);
    if (command.flags.back() == "-") command.flags.pop_back();
    command.what = letter == 'm' ? kind::module : kind::code;
    if (letter == 'm') command.name = is_apart ? arguments[i] : argument.substr(index + 1);
    return command;
  }
  return std::nullopt;
}

}  // namespace elastic::detail
