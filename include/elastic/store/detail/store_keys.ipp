// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/store_keys.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <limits>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void check_store_key(std::string_view key) {
  if (key.size() <= limits::store_key_bytes) return;
  throw error(errc::invalid_argument, fmt::format("a key of {} bytes; a store takes up to {}",
                                                  key.size(), limits::store_key_bytes));
}

ELASTIC_DECL void check_store_value(std::string_view value) {
  if (value.size() <= limits::store_value_bytes) return;
  throw error(errc::invalid_argument, fmt::format("a value of {} bytes; a store takes up to {}",
                                                  value.size(), limits::store_value_bytes));
}

ELASTIC_DECL void check_store_key_count(std::size_t count) {
  if (count <= limits::store_keys_per_request) return;
  throw error(errc::invalid_argument, fmt::format("{} keys at once; a store takes up to {}", count,
                                                  limits::store_keys_per_request));
}

ELASTIC_DECL void check_store_request(std::size_t bytes) {
  if (bytes <= limits::store_request_bytes) return;
  throw error(errc::invalid_argument,
              fmt::format("keys and values of {} bytes at once; a store takes up to {}", bytes,
                          limits::store_request_bytes));
}

ELASTIC_DECL std::string store_wire_key(std::string_view key) {
  std::string wire;
  wire.reserve(key.size() + 1);
  wire.push_back('/');
  wire.append(key);
  check_store_key(wire);
  return wire;
}

ELASTIC_DECL std::vector<std::string> store_wire_keys(const std::vector<std::string>& keys) {
  check_store_key_count(keys.size());
  std::vector<std::string> wire;
  wire.reserve(keys.size());
  std::size_t bytes = 0;
  for (const std::string& key : keys) {
    wire.push_back(store_wire_key(key));
    bytes += sizeof(std::uint64_t) + wire.back().size();
  }
  check_store_request(bytes);
  return wire;
}

ELASTIC_DECL std::optional<std::int64_t> leading_number(std::string_view text) {
  const auto is_blank = [](char letter) { return letter == ' ' || (letter >= 9 && letter <= 13); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  const bool is_negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t bound = is_negative ? largest + 1 : largest;
  std::uint64_t number = 0;
  bool has_digit = false;
  for (const char letter : text) {
    if (letter < '0' || letter > '9') break;
    const auto digit = static_cast<std::uint64_t>(letter - '0');
    if (number > (bound - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
    has_digit = true;
  }
  if (!has_digit) return std::nullopt;
  return static_cast<std::int64_t>(is_negative ? 0 - number : number);
}

}  // namespace elastic::detail
