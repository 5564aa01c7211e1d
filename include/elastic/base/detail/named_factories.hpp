// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Makes objects of one kind by name: the common base of the registries.
///
/// A plain value; nothing is registered globally.
/// @tparam Product  a pointer, or another type that can be null
template <class Product, class... Parameters>
class named_factories {
 public:
  using factory = std::function<Product(Parameters...)>;

  /// @param none  the beginning of the error for an unknown name: "there is no event handler"
  explicit named_factories(std::string none) : none_(std::move(none)) {}

  /// Adds a factory, or replaces the one of that name.
  /// Errors: `errc::invalid_argument` if it is null.
  void add(std::string name, factory make) {
    required(make != nullptr, fmt::format("the factory of '{}'", name));
    factories_[std::move(name)] = std::move(make);
  }

  bool contains(const std::string& name) const { return factories_.count(name) > 0; }

  /// "console, null": every name, in order.
  std::string names() const {
    std::string list;
    for (const auto& [name, make] : factories_) list += (list.empty() ? "" : ", ") + name;
    return list;
  }

  /// Makes the object of that name.
  /// Errors: `errc::invalid_argument` if there is no such factory, naming the existing ones, or if
  /// the factory returns null; what the factory throws.
  Product make(const std::string& name, Parameters... parameters) const {
    const auto position = factories_.find(name);
    if (position != factories_.end()) {
      return required(position->second(parameters...),
                      fmt::format("what the factory of '{}' returned", name));
    }
    throw error(errc::invalid_argument,
                fmt::format("{} '{}'; there are: {}", none_, name, names()));
  }

 private:
  std::string none_;
  std::map<std::string, factory> factories_;
};

}  // namespace elastic::detail
