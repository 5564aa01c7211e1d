// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/exit_selection.hpp>

#include <elastic/base/error.hpp>
#include <elastic/process/detail/signal_number.hpp>

#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL exit_selection& exit_selection::add_code(int code) {
  codes_.insert(code);
  return *this;
}

ELASTIC_DECL exit_selection& exit_selection::add_signal(int number) {
  signals_.insert(number);
  return *this;
}

ELASTIC_DECL bool exit_selection::contains(const exit_status& status) const {
  return (status.code() && codes_.count(*status.code()) > 0) ||
         (status.signal() && signals_.count(*status.signal()) > 0);
}

ELASTIC_DECL exit_selection exit_selection::parse(std::string_view text) {
  exit_selection selection;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    int code = -1;
    const char* const end = part.data() + part.size();
    const auto [stop, failure] = std::from_chars(part.data(), end, code);
    const bool is_code = failure == std::errc() && stop == end && code >= 0 && code <= 255;
    const std::optional<int> number = is_code ? std::nullopt : detail::signal_number(part);
    if (!is_code && !number) {
      throw error(errc::invalid_argument,
                  fmt::format("'{}' is not an exit code or a signal: a list of exit codes (0 to "
                              "255) and names of signals is needed, such as 93,SIGSEGV",
                              part));
    }
    if (is_code) selection.add_code(code);
    if (number) selection.add_signal(*number);
    if (comma == std::string_view::npos) return selection;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace elastic
