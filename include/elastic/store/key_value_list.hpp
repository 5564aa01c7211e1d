// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// Pairs of a key and its value, from a vector or up to eight in braces:
/// `co_await shared.multi_set({{"host", host}, {"port", port}})`.
///
/// The braces call constructors, as those of a key_list do.
class key_value_list : public std::vector<std::pair<std::string, std::string>> {
  class entry {
   public:
    entry() : is_given_(false) {}
    entry(std::string key, std::string value)
        : pair_(std::move(key), std::move(value)), is_given_(true) {}

   private:
    friend class key_value_list;
    value_type pair_;
    bool is_given_;
  };

 public:
  key_value_list() = default;

  // A template, so that braces never convert to a vector.
  template <std::same_as<std::vector<std::pair<std::string, std::string>>> Pairs>
  key_value_list(Pairs pairs) : vector(std::move(pairs)) {}

  key_value_list(entry first, entry second = {}, entry third = {}, entry fourth = {},
                 entry fifth = {}, entry sixth = {}, entry seventh = {}, entry eighth = {}) {
    for (entry* given : std::array{&first, &second, &third, &fourth, &fifth, &sixth, &seventh,
                                   &eighth}) {
      if (given->is_given_) push_back(std::move(given->pair_));
    }
  }
};

}  // namespace elastic
