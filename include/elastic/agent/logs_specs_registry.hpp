// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/logs_specs.hpp>
#include <elastic/base/error.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The logs_specs by name: that of this library, and those that you add.
///
/// A plain value; nothing is registered globally.
class logs_specs_registry {
 public:
  using factory = std::function<std::shared_ptr<logs_specs>()>;

  /// Knows "default".
  logs_specs_registry() {
    add("default", [] { return std::make_shared<default_logs_specs>(); });
  }

  /// Adds one, or replaces the one of that name.
  void add(std::string name, factory make) { factories_[std::move(name)] = std::move(make); }

  bool contains(const std::string& name) const { return factories_.count(name) > 0; }

  /// "default, mine": every name, in order.
  std::string names() const {
    std::string all;
    for (const auto& [name, make] : factories_) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  /// Makes the one of that name.
  /// Errors: `errc::invalid_argument` where there is none, naming those that there are; what the
  /// factory throws.
  std::shared_ptr<logs_specs> make(const std::string& name) const {
    const auto found = factories_.find(name);
    if (found != factories_.end()) return found->second();
    throw error(errc::invalid_argument,
                fmt::format("there are no logs specs '{}'; there are: {}", name, names()));
  }

 private:
  std::map<std::string, factory> factories_;
};

}  // namespace elastic
