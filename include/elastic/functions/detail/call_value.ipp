// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/functions/detail/call_value.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/error_file.hpp>

#include <cmath>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::optional<std::string> unsayable(const nlohmann::json& value, int depth) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return "holds a number that is not finite, which JSON cannot represent";
  }
  if (value.is_binary() || value.is_discarded()) return "holds a value that JSON cannot represent";
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
  check_call_text(text, subject);
  return nlohmann::json::parse(text);
}

ELASTIC_DECL nlohmann::json arguments_of(const function_call& call) {
  check_arguments(call);
  return nlohmann::json::parse(call.arguments);
}

}  // namespace elastic::detail
