// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>

namespace elastic::detail {

/// Like `std::make_shared`, which makes g++ compile three times as much for each type. Allocates
/// the object and its count separately.
template <class T, class... Arguments>
std::shared_ptr<T> new_shared(Arguments&&... arguments) {
  return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...));
}

}  // namespace elastic::detail
