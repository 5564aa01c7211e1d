// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <elastic/base/error.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic {

ELASTIC_DECL duration rendezvous_parameters::seconds(std::string_view name,
                                                     duration fallback) const {
  const auto position = conf.find(name);
  if (position == conf.end()) return fallback;
  double value = 0;
  const char* end = position->second.data() + position->second.size();
  const auto [stop, failure] = std::from_chars(position->second.data(), end, value);
  if (failure != std::errc() || stop != end || !(value > 0) || value > 1e8) {
    throw error(errc::invalid_argument,
                fmt::format("--rdzv-conf {}={}: a number of seconds over 0 is needed", name,
                            position->second));
  }
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>(value));
}

ELASTIC_DECL int rendezvous_parameters::whole_number(std::string_view name, int fallback) const {
  const auto position = conf.find(name);
  if (position == conf.end()) return fallback;
  int value = 0;
  const char* end = position->second.data() + position->second.size();
  const auto [stop, failure] = std::from_chars(position->second.data(), end, value);
  if (failure == std::errc() && stop == end && value > 0 && value <= 1'000'000) return value;
  throw error(errc::invalid_argument,
              fmt::format("--rdzv-conf {}={}: a whole number from 1 to 1000000 is needed", name,
                          position->second));
}

ELASTIC_DECL std::optional<bool> rendezvous_parameters::yes_or_no(std::string_view name) const {
  const auto position = conf.find(name);
  if (position == conf.end()) return std::nullopt;
  std::string value = position->second;
  for (char& letter : value) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  for (const char* yes : {"1", "true", "t", "yes", "y"}) {
    if (value == yes) return true;
  }
  for (const char* no : {"0", "false", "f", "no", "n"}) {
    if (value == no) return false;
  }
  throw error(errc::invalid_argument,
              fmt::format("--rdzv-conf {}={}: yes or no is needed", name, position->second));
}

ELASTIC_DECL rendezvous_settings rendezvous_parameters::settings() const {
  rendezvous_settings settings;
  settings.min_nodes = min_nodes;
  settings.max_nodes = max_nodes;
  settings.join_timeout = seconds("join_timeout", settings.join_timeout);
  settings.last_call_timeout = seconds("last_call_timeout", settings.last_call_timeout);
  settings.keep_alive_interval = seconds("keep_alive_interval", settings.keep_alive_interval);
  settings.keep_alive_max_attempt =
      whole_number("keep_alive_max_attempt", settings.keep_alive_max_attempt);
  settings.reconnect_grace = seconds("reconnect_grace", settings.reconnect_grace);
  for (const char* name : {"close_timeout", "heartbeat_timeout", "read_timeout", "timeout"}) {
    seconds(name, {});
  }
  return settings;
}

ELASTIC_DECL void rendezvous_parameters::warn_of_unused(std::vector<std::string_view> used) const {
  for (const auto& [name, value] : conf) {
    if (std::find(used.begin(), used.end(), name) != used.end()) continue;
    log.warning("--rdzv-conf {}={} is not used by the rendezvous backend '{}', which knows: {}",
                name, value, backend, fmt::join(used, ", "));
  }
}

}  // namespace elastic
