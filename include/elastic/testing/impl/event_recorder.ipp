// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/event_recorder.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic::testing {

ELASTIC_DECL void event_recorder::record(const event& happened) { events.push_back(happened); }

ELASTIC_DECL void event_recorder::emit(const metric_handler::metric& measured) {
  metrics.push_back(fmt::format("{}={}", measured.name, measured.value));
}

ELASTIC_DECL std::vector<event> event_recorder::ends() const {
  std::vector<event> kept;
  for (const event& happened : events) {
    if (!happened.duration_ms && happened.state != "START") kept.push_back(happened);
  }
  return kept;
}

ELASTIC_DECL std::ptrdiff_t event_recorder::count(std::string_view line) const {
  return std::count(metrics.begin(), metrics.end(), line);
}

}  // namespace elastic::testing
