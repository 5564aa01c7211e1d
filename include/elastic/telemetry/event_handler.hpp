// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/event.hpp>

namespace elastic {

/// Where events go. Thread-safety: called on the strand of the agent that records them.
class event_handler {
 public:
  virtual ~event_handler() = default;

  /// Takes one event. What it throws is logged and ends nothing.
  virtual void record(const event& happened) = 0;
};

}  // namespace elastic
