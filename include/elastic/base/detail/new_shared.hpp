// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace elastic::detail {

template <class T>
void delete_object(void* object) {
  delete static_cast<T*>(object);
}

/// Like `std::make_shared`, which makes g++ compile some twenty functions for each type. Allocates
/// the object and its count separately, and the count has one type for the whole library.
template <class T, class... Arguments>
std::shared_ptr<T> new_shared(Arguments&&... arguments) {
  using object_type = std::remove_const_t<T>;
  auto* const object = new object_type(std::forward<Arguments>(arguments)...);
  if constexpr (requires { object->weak_from_this(); }) {
    return std::shared_ptr<T>(object);  // sets what weak_from_this() returns
  } else {
    void* const untyped = object;  // a `T*` would make the count's type depend on T
    return std::shared_ptr<T>(std::shared_ptr<void>(untyped, &delete_object<object_type>), object);
  }
}

}  // namespace elastic::detail
