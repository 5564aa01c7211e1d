// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/named_factories.hpp>
#include <elastic/telemetry/console_event_handler.hpp>
#include <elastic/telemetry/event_handler.hpp>

#include <memory>

namespace elastic {

/// The event handlers by name: those of this library, and those that you add.
class event_handler_registry : public named_factories<event_handler> {
 public:
  /// Knows torchrun's names: "null" and "dynamic_rendezvous", which discard every event there as
  /// here, and "console", which writes to stderr.
  event_handler_registry() : named_factories("there is no event handler") {
    add("null", [] { return std::make_shared<null_event_handler>(); });
    add("console", [] { return std::make_shared<console_event_handler>(); });
    add("dynamic_rendezvous", [] { return std::make_shared<null_event_handler>(); });
  }
};

}  // namespace elastic
