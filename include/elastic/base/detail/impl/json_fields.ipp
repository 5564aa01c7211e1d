// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/json_fields.hpp>

#include <elastic/base/error.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic::detail {

ELASTIC_DECL json_fields::json_fields(std::string subject, std::string_view text,
                                      std::size_t most_bytes)
    : subject_(std::move(subject)) {
  if (text.size() > most_bytes) {
    refuse(fmt::format("is {} bytes long; up to {} are taken", text.size(), most_bytes));
  }
  json_ = std::make_shared<const nlohmann::json>(nlohmann::json::parse(text, nullptr, false));
  if (!json_->is_object()) refuse("is no JSON object");
}

ELASTIC_DECL bool json_fields::has(const char* name) const {
  const auto position = json_->find(name);
  return position != json_->end() && !position->is_null();
}

ELASTIC_DECL std::int64_t json_fields::number(const char* name, std::int64_t least,
                                              std::int64_t most) const {
  const nlohmann::json& value = field(name);
  if (!value.is_number_integer()) refuse(fmt::format("has no whole number \"{}\"", name));
  const bool is_too_large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  const auto number = is_too_large ? most : value.get<std::int64_t>();
  if (is_too_large || number < least || number > most) {
    refuse(fmt::format("has \"{}\" outside of {} to {}", name, least, most));
  }
  return number;
}

ELASTIC_DECL double json_fields::real(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_number()) refuse(fmt::format("has no number \"{}\"", name));
  return value.get<double>();
}

ELASTIC_DECL bool json_fields::flag(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_boolean()) refuse(fmt::format("has no true or false \"{}\"", name));
  return value.get<bool>();
}

ELASTIC_DECL std::string json_fields::text(const char* name) const {
  const nlohmann::json& value = field(name);
  if (!value.is_string()) refuse(fmt::format("has no text \"{}\"", name));
  return value.get<std::string>();
}

ELASTIC_DECL std::string json_fields::text(const char* name, std::size_t most_bytes) const {
  std::string value = text(name);
  if (value.size() <= most_bytes) return value;
  refuse(fmt::format("has \"{}\" of {} bytes; up to {} are taken", name, value.size(), most_bytes));
}

ELASTIC_DECL const nlohmann::json& json_fields::field(const char* name) const {
  const auto position = json_->find(name);
  if (position == json_->end()) refuse(fmt::format("has no \"{}\"", name));
  return *position;
}

ELASTIC_DECL void json_fields::allow(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : json_->items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string allowed;
    for (const std::string_view each : names) {
      allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : ", ", each);
    }
    refuse(fmt::format("has a field other than {}", allowed));
  }
}

ELASTIC_DECL void json_fields::refuse(const std::string& why) const {
  throw error(errc::protocol_violation, subject_ + " " + why);
}

}  // namespace elastic::detail
