// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/function_call.hpp>

#include <elastic/base/detail/json_document.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/error_file.hpp>

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace elastic {

namespace detail {

ELASTIC_DECL void check_call_text(std::string_view text, const std::string& subject) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::protocol_violation, subject + " cannot be understood: " + why);
  };
  if (const auto reason = beyond_json_bounds(text, std::numeric_limits<int>::max())) {
    refuse(*reason);
  }
  constexpr std::size_t longest = 300;
  const std::string fault = json_fault(text);
  if (!fault.empty()) refuse(json_complaint(fault).substr(0, longest));
}

ELASTIC_DECL std::string arguments_name(const std::string& function) {
  return fmt::format("the list of arguments of function '{}'", function);
}

ELASTIC_DECL void check_arguments(const function_call& call) {
  if (call.arguments.size() > limits::function_arguments_bytes) {
    throw error(errc::invalid_argument,
                fmt::format("{} is {} bytes of JSON, {} are allowed", arguments_name(call.name),
                            call.arguments.size(), limits::function_arguments_bytes));
  }
  try {
    check_call_text(call.arguments, arguments_name(call.name));
  } catch (const error& failure) {
    throw error(errc::invalid_argument, failure.what());
  }
  // The text may begin with whitespace and a byte order mark.
  const std::size_t first = call.arguments.find_first_not_of(" \t\n\r\xef\xbb\xbf");
  if (call.arguments[first] != '[') {
    throw error(errc::invalid_argument,
                fmt::format("the arguments of function '{}' are not a JSON array", call.name));
  }
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
  detail::check_arguments(call);
}

}  // namespace elastic
