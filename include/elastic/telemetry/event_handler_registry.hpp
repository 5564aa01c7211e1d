// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/telemetry/console_event_handler.hpp>
#include <elastic/telemetry/event_handler.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The event handlers by name: those of this library, and those that you add.
///
/// A plain value; nothing is registered globally.
class event_handler_registry {
 public:
  using factory = std::function<std::shared_ptr<event_handler>()>;

  /// Knows torchrun's names: "null" and "dynamic_rendezvous", which discard every event there as
  /// here, and "console", which writes to stderr.
  event_handler_registry() {
    add("null", [] { return std::make_shared<null_event_handler>(); });
    add("console", [] { return std::make_shared<console_event_handler>(); });
    add("dynamic_rendezvous", [] { return std::make_shared<null_event_handler>(); });
  }

  /// Adds a handler, or replaces the one of that name.
  void add(std::string name, factory make) { factories_[std::move(name)] = std::move(make); }

  bool contains(const std::string& name) const { return factories_.count(name) > 0; }

  /// "console, dynamic_rendezvous, null": every name, in order.
  std::string names() const {
    std::string all;
    for (const auto& [name, make] : factories_) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  /// Makes the handler of that name.
  /// Errors: `errc::invalid_argument` where there is none, naming those that there are; what the
  /// factory throws.
  std::shared_ptr<event_handler> make(const std::string& name) const {
    const auto found = factories_.find(name);
    if (found != factories_.end()) return found->second();
    throw error(errc::invalid_argument,
                fmt::format("there is no event handler '{}'; there are: {}", name, names()));
  }

 private:
  std::map<std::string, factory> factories_;
};

}  // namespace elastic
