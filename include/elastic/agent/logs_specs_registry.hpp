// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/logs_specs.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/named_factories.hpp>

namespace elastic {

/// The logs_specs by name: the library's own, and those that you add.
///
/// A plain value; nothing is registered globally.
class logs_specs_registry : detail::named_factories<std::shared_ptr<logs_specs>> {
 public:
  /// A function without parameters that makes logs_specs; it must not return null.
  using named_factories::factory;

  /// Knows "default".
  ELASTIC_DECL logs_specs_registry();

  /// `add(name, factory)` adds a factory, or replaces the one of that name. Errors:
  /// `errc::invalid_argument` if it is null.
  using named_factories::add;
  /// `contains(name)`: whether there is a factory of that name.
  using named_factories::contains;
  /// `names()`: every name, in order, as "default, mine".
  using named_factories::names;
  /// `make(name)` makes the object of that name. Errors: `errc::invalid_argument` if there is no
  /// such factory, naming the existing ones, or if the factory returns null; what it throws.
  using named_factories::make;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/logs_specs_registry.ipp>
#endif
