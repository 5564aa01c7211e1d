// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for messages of the library's own protocols.

#include <elastic/base/detail/json_text.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Builds a JSON object on one line, field by field: `json_object().add("step", 3).text()` is
/// {"step": 3}. Does not escape names.
class json_object {
 public:
  json_object() {
    constexpr std::size_t usual_size = 256;
    text_.reserve(usual_size);
    text_ += '{';
  }

  /// Each byte of `value` that is not UTF-8 becomes U+FFFD.
  json_object& add(std::string_view name, std::string_view value) {
    begin(name);
    text_ += '"';
    append_json_text(text_, value);
    text_ += '"';
    return *this;
  }
  json_object& add(std::string_view name, const char* value) {
    return add(name, std::string_view(value));
  }

  /// An integer, a boolean, or a finite floating-point number.
  template <class Value>
    requires std::integral<Value> || std::floating_point<Value>
  json_object& add(std::string_view name, Value value) {
    begin(name);
    if constexpr (std::is_same_v<Value, bool>) {
      text_ += value ? "true" : "false";
    } else if constexpr (std::integral<Value>) {
      const fmt::format_int digits(value);
      text_.append(digits.data(), digits.size());
    } else {
      text_ += fmt::format("{}", value);
    }
    return *this;
  }

  /// A value that is already JSON.
  json_object& add_json(std::string_view name, std::string_view json) {
    begin(name);
    text_ += json;
    return *this;
  }

  std::string text() const& { return text_ + '}'; }
  std::string text() && {
    text_ += '}';
    return std::move(text_);
  }

 private:
  void begin(std::string_view name) {
    if (text_.size() > 1) text_ += ", ";
    text_ += '"';
    text_ += name;
    text_ += "\": ";
  }

  std::string text_;
};

}  // namespace elastic::detail
