// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/named_factories.hpp>
#include <elastic/telemetry/event_handler.hpp>

namespace elastic::detail {

/// The event handlers by name: those of this library, and those that you add.
class event_handler_registry : public detail::named_factories<std::shared_ptr<event_handler>> {
 public:
  /// Has torchrun's names: "null" and "dynamic_rendezvous", which discard every event, as in
  /// torchrun, and "console", which writes to stderr.
  ELASTIC_DECL event_handler_registry();
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/detail/event_handler_registry.ipp>
#endif
