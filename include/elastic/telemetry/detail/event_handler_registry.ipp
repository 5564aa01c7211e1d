// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/detail/event_handler_registry.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/telemetry/console_event_handler.hpp>

#include <memory>

namespace elastic::detail {

class discarding_event_handler final : public event_handler {
 public:
  void record(const event&) override {}
};

ELASTIC_DECL event_handler_registry::event_handler_registry()
    : named_factories("there is no event handler") {
  add("null", [] { return new_shared<discarding_event_handler>(); });
  add("console", [] { return new_shared<console_event_handler>(); });
  add("dynamic_rendezvous", [] { return new_shared<discarding_event_handler>(); });
}

}  // namespace elastic::detail
