// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The types of options: each reads a text into a field, or refuses it with what is allowed.

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/cli/detail/option_type.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/process/exit_selection.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// The field that takes the value of an option.
template <class T>
using option_field = std::function<T&(option_target&)>;

/// The field at the end of a path of members from the program_config.
template <class... Members>
auto in_config(Members... members) {
  return [=](option_target& target) -> auto& { return (target.config.*....*members); };
}

/// The same from its launch_config.
template <class... Members>
auto in_job(Members... members) {
  return in_config(&program_config::job, members...);
}

template <class T>
T shown(const option_field<T>& field, option_target target) {
  return field(target);
}

[[noreturn]] ELASTIC_DECL void refuse_value(const option_value& option, std::string_view allowed);

/// A whole number from `low` to `high`; empty for anything else.
ELASTIC_DECL std::optional<int> number_between(std::string_view text, int low, int high);

/// A number of bytes: "4096", "500k", "100M", "2G".
ELASTIC_DECL std::optional<std::uint64_t> size_of(std::string_view text);

/// A time in seconds, decimals allowed. Errors: see option_type.
ELASTIC_DECL duration seconds_of(const option_value& option);

ELASTIC_DECL option_type text_type(option_field<std::string> field);

/// A text that is not empty: an empty one is refused with `allowed`. In a script it is usually a
/// variable that was not set.
ELASTIC_DECL option_type filled_text_type(std::string allowed, option_field<std::string> field);

/// On or off. On the command line its text is "1"; in the environment 0 is off.
ELASTIC_DECL option_type flag_type(option_field<bool> field);

template <class Integer>
option_type number_type(int low, int high, option_field<Integer> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    const auto number = number_between(option.text, low, high);
    if (!number) {
      refuse_value(option, fmt::format("a whole number from {} to {} is needed", low, high));
    }
    field(target) = static_cast<Integer>(*number);
  };
  type.show = [=](const option_target& target) { return fmt::format("{}", shown(field, target)); };
  return type;
}

ELASTIC_DECL option_type seconds_type(option_field<duration> field);

/// More than 0, or 0 if that means something, and at most `most`.
enum class zero_seconds { refused, allowed };
ELASTIC_DECL option_type bounded_seconds_type(std::chrono::seconds most,
                                              option_field<duration> field,
                                              zero_seconds zero = zero_seconds::refused);

ELASTIC_DECL option_type streams_type(option_field<stream_selection> field);

/// Ways for a worker to end: "93,SIGABRT".
ELASTIC_DECL option_type ends_type(option_field<exit_selection> field);

/// "SIGTERM,SIGINT".
ELASTIC_DECL option_type signals_type(option_field<std::vector<int>> field);

/// "loss,error"; a doubled comma is one of the text.
ELASTIC_DECL option_type texts_type(option_field<std::vector<std::string>> field);

/// "text, json or xml".
ELASTIC_DECL std::string enumerated(const std::vector<std::string>& names);

/// A choice among several names.
template <class Value>
option_type choice_type(std::vector<std::pair<std::string, Value>> choices,
                        option_field<Value> field) {
  option_type type;
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
      if (option.text == name) {
        field(target) = value;
        return;
      }
      names.push_back(name);
    }
    refuse_value(option, "must be " + enumerated(names));
  };
  type.show = [=](const option_target& target) {
    const Value current = shown(field, target);
    for (const auto& [name, value] : choices) {
      if (value == current) return name;
    }
    return std::string();
  };
  for (const auto& [name, value] : choices) type.choices.push_back(name);
  return type;
}

/// A choice among several names that changes nothing.
ELASTIC_DECL option_type ignored_choice_type(std::vector<std::string> names);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/option_types.ipp>
#endif
