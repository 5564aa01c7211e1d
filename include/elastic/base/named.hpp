// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic {

/// A parameter that takes a named object, not a temporary.
///
/// g++ 12 destroys a temporary aggregate twice if its expression contains `co_await`, as in
/// `co_await launch({.standalone = true})`. A function that may be called in such an expression
/// declares its aggregates as `named`, so that this does not compile. Name the object first:
///
///     launch_config config{.standalone = true};
///     co_await launch(config);
///
/// It only refers to the object. A coroutine copies what it needs before it suspends.
template <class T>
class named {
 public:
  named(const T& object) : object_(&object) {}
  /// Both deleted: declare a variable for the object first.
  named(const T&& temporary) = delete;
  named() = delete;

  const T& operator*() const { return *object_; }
  const T* operator->() const { return object_; }

 private:
  const T* object_;
};

}  // namespace elastic
