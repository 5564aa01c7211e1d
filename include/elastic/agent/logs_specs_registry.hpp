// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/logs_specs.hpp>
#include <elastic/base/named_factories.hpp>

#include <memory>

namespace elastic {

/// The logs_specs by name: that of this library, and those that you add.
class logs_specs_registry : public named_factories<logs_specs> {
 public:
  /// Knows "default".
  logs_specs_registry() : named_factories("there are no logs specs") {
    add("default", [] { return std::make_shared<default_logs_specs>(); });
  }
};

}  // namespace elastic
