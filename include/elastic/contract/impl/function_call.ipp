// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/function_call.hpp>

#include <elastic/base/detail/json_document.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/error_file.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {

namespace detail {

ELASTIC_DECL std::optional<std::string> unsayable(const nlohmann::json& value, int depth) {
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

ELASTIC_DECL std::string call_text(const nlohmann::json& value, std::size_t most,
                                   const std::string& subject) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::invalid_argument, subject + " " + why);
  };
  if (const auto reason = unsayable(value)) refuse(*reason);
  std::string text;
  try {
    text = value.dump();
  } catch (const nlohmann::json::exception& failure) {
    refuse("cannot be written as JSON: " + json_complaint(failure.what()));
  }
  if (text.size() > most) {
    refuse(fmt::format("is {} bytes of JSON, {} are allowed", text.size(), most));
  }
  return text;
}

ELASTIC_DECL nlohmann::json call_value(std::string_view text, const std::string& subject) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::protocol_violation, subject + " cannot be understood: " + why);
  };
  if (const auto reason = beyond_json_bounds(text, std::numeric_limits<int>::max())) {
    refuse(*reason);
  }
  std::string complaint;
  nlohmann::json value = parse_json(text, &complaint);
  constexpr std::size_t longest = 300;
  if (value.is_discarded()) refuse(json_complaint(complaint).substr(0, longest));
  return value;
}

ELASTIC_DECL std::string arguments_name(const std::string& function) {
  return fmt::format("the list of arguments of function '{}'", function);
}

ELASTIC_DECL nlohmann::json arguments_of(const function_call& call) {
  if (call.arguments.size() > limits::function_arguments_bytes) {
    throw error(errc::invalid_argument,
                fmt::format("{} is {} bytes of JSON, {} are allowed", arguments_name(call.name),
                            call.arguments.size(), limits::function_arguments_bytes));
  }
  nlohmann::json arguments;
  try {
    arguments = call_value(call.arguments, arguments_name(call.name));
  } catch (const error& failure) {
    throw error(errc::invalid_argument, failure.what());
  }
  if (!arguments.is_array()) {
    throw error(errc::invalid_argument,
                fmt::format("the arguments of function '{}' are no JSON array", call.name));
  }
  return arguments;
}

}  // namespace detail

ELASTIC_DECL std::size_t return_value_bound(int local_world_size) {
  const auto workers = static_cast<std::size_t>(std::max(local_world_size, 1));
  return std::min(limits::return_value_bytes, limits::return_values_bytes / workers);
}

ELASTIC_DECL void validate(const function_call& call) {
  constexpr std::size_t longest_name = 256;
  if (call.name.empty() || call.name.size() > longest_name ||
      call.name.find('\0') != std::string::npos) {
    throw error(errc::invalid_argument,
                fmt::format("the name of a function has {} bytes: 1 to {} are allowed, none of "
                            "them zero",
                            call.name.size(), longest_name));
  }
  detail::arguments_of(call);
}

}  // namespace elastic
