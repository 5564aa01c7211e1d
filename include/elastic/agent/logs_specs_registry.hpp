// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/logs_specs.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/named_factories.hpp>

namespace elastic {

/// The logs_specs by name: the library's own, and those that you add.
class logs_specs_registry : public detail::named_factories<std::shared_ptr<logs_specs>> {
 public:
  /// Knows "default".
  ELASTIC_DECL logs_specs_registry();
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/logs_specs_registry.ipp>
#endif
