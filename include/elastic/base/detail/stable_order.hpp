// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Sorts stably. `std::stable_sort` of libstdc++ 12 calls a function that clang rejects as
/// deprecated.
template <class T, class Less>
void sort_stably(std::vector<T>& items, Less less) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    if (less(items[left], items[right])) return true;
    return !less(items[right], items[left]) && left < right;
  });
  std::vector<T> sorted;
  sorted.reserve(items.size());
  for (const std::size_t index : order) sorted.push_back(std::move(items[index]));
  items = std::move(sorted);
}

}  // namespace elastic::detail
