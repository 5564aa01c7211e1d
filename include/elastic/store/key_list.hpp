// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic {

/// Keys of a store, from a vector or in braces: `co_await shared.wait({"ready", name})`.
///
/// The braces call a constructor. Braces for a vector make an array, which g++ 12 does not compile
/// in an expression that contains `co_await`.
class key_list : public std::vector<std::string> {
 public:
  key_list() = default;
  key_list(std::vector<std::string> keys) : vector(std::move(keys)) {}

  template <class... Keys>
    requires(sizeof...(Keys) > 0 && (std::convertible_to<Keys, std::string_view> && ...))
  key_list(Keys&&... keys) {
    reserve(sizeof...(keys));
    (emplace_back(std::forward<Keys>(keys)), ...);
  }
};

}  // namespace elastic
