// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Internal: for definitions alone, since it takes all of the JSON library.

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/detail/printable.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic::detail {

/// The longest time that is said: some three years.
inline constexpr double most_control_seconds = 1e8;

/// The fields of a line, each read with its bounds.
class control_fields {
 public:
  explicit control_fields(std::string_view line) {
    if (line.size() >= limits::control_line_bytes) {
      refuse(fmt::format("is {} bytes long; {} are allowed, the line end included", line.size(),
                         limits::control_line_bytes));
    }
    json_ = nlohmann::json::parse(line, nullptr, false);
    if (!json_.is_object()) {
      refuse(fmt::format("is no JSON object: '{}'", printable(ascii(line), 80)));
    }
  }

  std::string kind() const { return text("kind", limits::control_name_bytes); }

  std::int64_t number(const char* name, std::int64_t least, std::int64_t most) const {
    const nlohmann::json& value = field(name);
    if (!value.is_number_integer()) refuse(fmt::format("has no whole number \"{}\"", name));
    const bool too_large =
        value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    const auto number = too_large ? most : value.get<std::int64_t>();
    if (too_large || number < least || number > most) {
      refuse(fmt::format("has \"{}\" outside of {} to {}", name, least, most));
    }
    return number;
  }

  std::int64_t number_or(const char* name, std::int64_t otherwise, std::int64_t most) const {
    return has(name) ? number(name, 0, most) : otherwise;
  }

  bool flag_or(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    const nlohmann::json& value = field(name);
    if (!value.is_boolean()) refuse(fmt::format("has no true or false \"{}\"", name));
    return value.get<bool>();
  }

  std::string text(const char* name, std::size_t most) const {
    const nlohmann::json& value = field(name);
    if (!value.is_string()) refuse(fmt::format("has no text \"{}\"", name));
    return printable(value.get_ref<const std::string&>(), most);
  }

  std::string text_or_empty(const char* name) const {
    return has(name) ? text(name, limits::control_text_bytes) : std::string();
  }

  /// A name: not empty, and refused if it is too long, since cut ones could be the same.
  std::string name(const char* field_name) const {
    const std::string value = text(field_name, limits::control_line_bytes);
    if (value.empty() || value.size() > limits::control_name_bytes) {
      refuse(fmt::format("has a \"{}\" of {} bytes; 1 to {} are allowed", field_name, value.size(),
                         limits::control_name_bytes));
    }
    return value;
  }

  duration seconds(const char* name) const {
    constexpr double most = most_control_seconds;
    const nlohmann::json& value = field(name);
    if (!value.is_number()) refuse(fmt::format("has no number of seconds \"{}\"", name));
    const double number = value.get<double>();
    if (!(number > 0) || number > most) {
      refuse(fmt::format("has \"{}\" outside of 0 to {} seconds", name, most));
    }
    return std::chrono::ceil<duration>(std::chrono::duration<double>(number));
  }

  std::optional<duration> seconds_or_none(const char* name) const {
    return has(name) ? std::optional<duration>(seconds(name)) : std::nullopt;
  }

  double real(const char* name) const {
    const nlohmann::json& value = field(name);
    if (!value.is_number()) refuse(fmt::format("has no number \"{}\"", name));
    return value.get<double>();
  }

  std::map<std::string, double> metrics(const char* name) const {
    std::map<std::string, double> values;
    if (!has(name)) return values;
    const nlohmann::json& object = field(name);
    if (!object.is_object() || object.size() > limits::control_metrics) {
      refuse(fmt::format("has \"{}\" that are no object of at most {} numbers", name,
                         limits::control_metrics));
    }
    for (const auto& [key, value] : object.items()) {
      if (!value.is_number() || key.size() > limits::control_name_bytes) {
        refuse(fmt::format("has a metric '{:.40}' that is no number, or of a name over {} bytes",
                           printable(key, limits::control_name_bytes), limits::control_name_bytes));
      }
      values[printable(key, limits::control_name_bytes)] = value.get<double>();
    }
    return values;
  }

  [[noreturn]] static void refuse(const std::string& why) {
    throw error(errc::protocol_violation, "a control message " + why);
  }

 private:
  // What is no JSON need not be UTF-8 either.
  static std::string ascii(std::string_view text) {
    std::string shown(text.substr(0, 80));
    for (char& letter : shown) {
      if ((static_cast<unsigned char>(letter) & 0x80) != 0) letter = '?';
    }
    return shown;
  }

  bool has(const char* name) const {
    const auto position = json_.find(name);
    return position != json_.end() && !position->is_null();
  }

  const nlohmann::json& field(const char* name) const {
    const auto position = json_.find(name);
    if (position == json_.end()) refuse(fmt::format("has no \"{}\"", name));
    return *position;
  }

  nlohmann::json json_;
};

}  // namespace elastic::detail
