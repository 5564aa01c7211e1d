// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/contract/error_file.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {

/// Set in a worker that is to run a function: the function's name.
inline constexpr const char* entrypoint_variable = "ELASTIC_ENTRYPOINT";

/// Which function every worker runs, and with what. `entrypoint::call` makes one whose arguments
/// fit; by hand for a program of which only the names are known.
struct function_call {
  /// The name under which the worker's program has registered the function.
  std::string name;
  /// A JSON array: the arguments in order.
  nlohmann::json arguments = nlohmann::json::array();
};

namespace detail {

/// Why a value would not arrive as it is; none where it would. `what` names it.
inline std::optional<std::string> unsayable(const nlohmann::json& value, int depth = 1) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return "holds a number that is not finite, which JSON cannot say";
  }
  if (value.is_binary() || value.is_discarded()) return "holds what JSON cannot say";
  if (!value.is_structured()) return std::nullopt;
  if (depth > error_file_depth) {
    return fmt::format("is nested more than {} levels deep", error_file_depth);
  }
  for (const nlohmann::json& element : value) {
    if (auto reason = unsayable(element, depth + 1)) return reason;
  }
  return std::nullopt;
}

/// A value as it travels between agent and worker. `what` names it in errors.
/// Errors: `errc::invalid_argument`, saying what is wrong with it.
inline std::string call_text(const nlohmann::json& value, std::size_t most,
                             const std::string& what) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::invalid_argument, what + " " + why);
  };
  if (const auto reason = unsayable(value)) refuse(*reason);
  std::string text;
  try {
    text = value.dump();
  } catch (const nlohmann::json::exception& failure) {
    refuse("cannot be written as JSON: " + json_complaint(failure));
  }
  if (text.size() > most) {
    refuse(fmt::format("is {} bytes of JSON, {} are allowed", text.size(), most));
  }
  return text;
}

/// The value that such a text stands for; the text may be anything.
/// Errors: `errc::protocol_violation`, saying what is wrong with it.
inline nlohmann::json call_value(std::string_view text, const std::string& what) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::protocol_violation, what + " cannot be understood: " + why);
  };
  if (const auto reason = beyond_json_bounds(text, std::numeric_limits<int>::max())) {
    refuse(*reason);
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& failure) {
    constexpr std::size_t longest = 300;
    refuse(json_complaint(failure).substr(0, longest));
  }
  return {};
}

inline std::string arguments_text(const function_call& call) {
  return call_text(call.arguments, limits::function_arguments_bytes,
                   fmt::format("the list of arguments of function '{}'", call.name));
}

}  // namespace detail

/// How many bytes of JSON each of so many workers of a node may return.
inline std::size_t return_value_bound(int local_world_size) {
  const auto workers = static_cast<std::size_t>(std::max(local_world_size, 1));
  return std::min(limits::return_value_bytes, limits::return_values_bytes / workers);
}

/// Checks what can be said about a call without the program that has the function.
/// Errors: `errc::invalid_argument`, saying what is allowed.
inline void validate(const function_call& call) {
  constexpr std::size_t longest_name = 256;
  if (call.name.empty() || call.name.size() > longest_name ||
      call.name.find('\0') != std::string::npos) {
    throw error(errc::invalid_argument,
                fmt::format("the name of a function has {} bytes: 1 to {} are allowed, none of "
                            "them zero", call.name.size(), longest_name));
  }
  if (!call.arguments.is_array()) {
    throw error(errc::invalid_argument,
                fmt::format("the arguments of function '{}' are no JSON array", call.name));
  }
  detail::arguments_text(call);
}

}  // namespace elastic
