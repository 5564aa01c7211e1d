// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic {

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13

/// The aggregate parameter of a function that may be called in an expression with `co_await`.
///
/// g++ 12 destroys a temporary aggregate twice in such an expression, as in
/// `co_await launch({.standalone = true})`. With g++ 12, `named` therefore takes a named object
/// only, and this does not compile. Name the object first:
///
///     launch_config config{.standalone = true};
///     co_await launch(config);
///
/// With clang, and with g++ from 13 on, it is a reference, and temporaries are as good.
/// It only refers to the object. A coroutine copies what it needs before it suspends.
template <class T>
class named {
 public:
  named(const T& object) : object_(&object) {}
  /// Both deleted: g++ 12 would destroy the temporary twice. Compilers show what is behind them.
  named(const T&& temporary) = delete;  // declare a variable first, and pass it
  named() = delete;                     // declare a variable first, and pass it

  operator const T&() const { return *object_; }

 private:
  const T* object_;
};

#else

/// The aggregate parameter of a function that may be called in an expression with `co_await`: a
/// reference, except with g++ 12, for which it is a class that takes no temporary.
template <class T>
using named = const T&;

#endif

}  // namespace elastic
