// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/exit_status.hpp>

#include <elastic/process/detail/signal_number.hpp>

#include <string_view>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::string signal_name(int number) {
  const std::string_view name = detail::signal_abbreviation(number);
  return name.empty() ? fmt::format("signal {}", number) : fmt::format("SIG{}", name);
}

ELASTIC_DECL exit_status exit_status::signalled(int number, bool core_dumped) {
  return {kind::signalled, number, core_dumped};
}

ELASTIC_DECL int exit_status::as_python() const {
  switch (kind_) {
    case kind::exited: return value_;
    case kind::signalled: return -value_;
    case kind::unknown:
    case kind::guard_lost: break;
  }
  return 255;
}

ELASTIC_DECL std::string exit_status::text() const {
  switch (kind_) {
    case kind::exited: return fmt::format("exit code {}", value_);
    case kind::signalled: return signal_name(value_) + (core_dumped_ ? " (core dumped)" : "");
    case kind::guard_lost: return "its guard was killed, descendants of it may survive";
    case kind::unknown: break;
  }
  return "unknown status (taken by this process itself, or SIGCHLD is ignored)";
}

ELASTIC_DECL exit_status::exit_status(kind how, int value, bool core_dumped)
    : kind_(how), value_(value), core_dumped_(core_dumped) {}

ELASTIC_DECL std::optional<int> exit_status::only(kind wanted) const {
  return kind_ == wanted ? std::optional<int>(value_) : std::nullopt;
}

}  // namespace elastic
