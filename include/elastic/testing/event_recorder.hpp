// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/event.hpp>
#include <elastic/telemetry/event_handler.hpp>
#include <elastic/telemetry/metric_handler.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::testing {

/// Keeps what an agent reports, for tests: as `agent_services::events`, `agent_services::metrics`,
/// or both.
///
/// Thread-safety: one strand at a time, that of the agent.
class ELASTIC_EXPORT event_recorder final : public event_handler, public metric_handler {
 public:
  /// In the order in which they happened.
  std::vector<event> events;
  /// Each as "name=value".
  std::vector<std::string> metrics;

  ELASTIC_DECL void record(const event& happened) override;
  ELASTIC_DECL void emit(const metric_handler::metric& measured) override;

  /// The events about the ends of workers and of the agent.
  ELASTIC_DECL std::vector<event> ends() const;
  /// How many metrics are equal to `line`.
  ELASTIC_DECL std::ptrdiff_t count(std::string_view line) const;
};

}  // namespace elastic::testing

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/testing/impl/event_recorder.ipp>
#endif
