// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/wire/detail/pmi_request.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

[[noreturn]] inline void refuse_pmi(const std::string& why) {
  throw error(errc::protocol_violation, why);
}

/// The beginning of a text from a worker, in quotes, for a message.
inline std::string shown_pmi(std::string_view text) {
  constexpr std::size_t most = 80;
  return in_quotes(text.substr(0, most));
}

ELASTIC_DECL const std::string& pmi_request::word(std::string_view name) const {
  const auto entry = words.find(name);
  if (entry == words.end()) refuse_pmi(fmt::format("'{}' without {}", command, name));
  return entry->second;
}

ELASTIC_DECL int pmi_request::number(std::string_view name) const {
  const std::string& text = word(name);
  int value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) {
    refuse_pmi(
        fmt::format("'{}' with {}={}, which is not a number", command, name, shown_pmi(text)));
  }
  return value;
}

ELASTIC_DECL pmi_request parse_pmi_request(std::string_view line) {
  const bool is_plain = std::all_of(line.begin(), line.end(),
                                    [](char letter) { return letter >= ' ' && letter <= '~'; });
  if (!is_plain) {
    refuse_pmi(
        fmt::format("a line with characters other than printable ASCII: {}", shown_pmi(line)));
  }
  pmi_request request;
  for (std::string_view rest = line; !rest.empty();) {
    const std::string_view text = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(text.size() + 1, rest.size()));
    if (text.empty()) continue;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      refuse_pmi(fmt::format("not a PMI-1 request: {}", shown_pmi(line)));
    }
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(equals + 1);
    if (request.command.empty()) {
      if (name != "cmd" || value.empty()) {
        refuse_pmi(fmt::format("not a PMI-1 request: {}", shown_pmi(line)));
      }
      request.command = value;
    } else if (!request.words.emplace(name, value).second) {
      refuse_pmi(fmt::format("a line that repeats {}: {}", name, shown_pmi(line)));
    }
  }
  if (request.command.empty()) refuse_pmi("an empty line");
  return request;
}

ELASTIC_DECL bool pmi_space::insert(std::string_view key, std::string_view value) {
  const std::size_t more = key.size() + value.size();
  if (bytes_ + more > limits::pmi_space_bytes) return false;
  if (!values_.emplace(key, value).second) return false;
  bytes_ += more;
  return true;
}

ELASTIC_DECL bool pmi_space::put(const std::string& key, const std::string& value) {
  const std::size_t more = key.size() + value.size() + 2;
  if (news_.size() + more > limits::pmi_puts_bytes || !insert(key, value)) return false;
  news_ += fmt::format("{}={}\n", key, value);
  return true;
}

ELASTIC_DECL std::optional<std::string> pmi_space::get(std::string_view key) const {
  const auto entry = values_.find(key);
  if (entry == values_.end()) return std::nullopt;
  return entry->second;
}

ELASTIC_DECL std::string pmi_space::take_news() { return std::exchange(news_, {}); }

ELASTIC_DECL void pmi_space::add_news(std::string_view text) {
  if (text.size() > limits::pmi_puts_bytes) refuse_pmi("a node sent too many bytes of PMI keys");
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t equals = line.find('=');
    const bool is_pair = end != std::string_view::npos && equals != std::string_view::npos &&
                         equals > 0 && equals <= limits::pmi_key_bytes &&
                         line.size() - equals - 1 <= limits::pmi_value_bytes;
    if (!is_pair) refuse_pmi(fmt::format("a node sent a malformed PMI key: {}", shown_pmi(line)));
    insert(line.substr(0, equals), line.substr(equals + 1));
    text.remove_prefix(end + 1);
  }
}

}  // namespace elastic::detail
