// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/option_readers.hpp>

#include <elastic/base/error.hpp>
#include <elastic/launch/early_exit.hpp>

#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::optional<int> number_between(std::string_view text, int low, int high) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value < low || value > high) return std::nullopt;
  return value;
}

ELASTIC_DECL void refuse_value(const option_value& given, std::string_view allowed) {
  throw error(errc::invalid_argument,
              fmt::format("{} {}: {}", given.source, in_quotes(given.text), allowed));
}

ELASTIC_DECL void read_number(const option_values& values, const char* name, int low, int high,
                              int& result) {
  const auto given = values.find(name);
  if (!given) return;
  const auto number = number_between(given->text, low, high);
  if (!number) {
    refuse_value(*given, fmt::format("a whole number from {} to {} is needed", low, high));
  }
  result = *number;
}

ELASTIC_DECL std::chrono::milliseconds seconds_of(const option_value& given) {
  constexpr double most = 1e8;
  double value = 0;
  const char* end = given.text.data() + given.text.size();
  const auto [stop, failure] = std::from_chars(given.text.data(), end, value);
  if (failure != std::errc() || stop != end || !(value >= 0) || value > most) {
    refuse_value(given, "a number of seconds is needed, 0 or more");
  }
  return std::chrono::milliseconds(std::llround(value * 1000));
}

ELASTIC_DECL void read_text(const option_values& values, const char* name, std::string& result) {
  if (const auto given = values.find(name)) result = given->text;
}

ELASTIC_DECL void read_streams(const option_values& values, const char* name,
                               stream_selection& result) {
  const auto given = values.find(name);
  if (!given) return;
  try {
    result = stream_selection::parse(given->text);
  } catch (const error&) {
    refuse_value(*given,
                 "allowed are 0 (none), 1 (stdout), 2 (stderr) and 3 (both) for all workers, or a "
                 "list such as 0:3,1:1 by local rank (one digit)");
  }
}

}  // namespace elastic::detail
