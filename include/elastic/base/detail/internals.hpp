// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

namespace elastic::detail {

/// Reaches what a public type holds for other parts of the library: such types make it private, and
/// this their friend.
struct internals {
  /// The members that a public struct keeps in its field `internal`.
  template <class Public>
  static auto& of(Public& owner) {
    return owner.internal.members_;
  }

  /// A `T` by a private constructor.
  template <class T, class... Arguments>
  static std::shared_ptr<T> make(Arguments&&... arguments) {
    return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...));
  }

  /// The table of a memory_store, or of a server of stores.
  template <class Store>
  static auto engine_of(const Store& owner) {
    return owner.engine();
  }
};

}  // namespace elastic::detail
