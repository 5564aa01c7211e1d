// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/event.hpp>

namespace elastic {

/// Where events go. Thread-safety: called on the strand of the agent that records them.
class ELASTIC_EXPORT event_handler {
 public:
  virtual ~event_handler() = default;

  /// Receives one event. Exceptions are logged and otherwise ignored.
  virtual void record(const event& happened) = 0;
};

}  // namespace elastic
