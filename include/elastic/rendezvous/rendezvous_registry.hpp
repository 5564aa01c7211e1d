// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/etcd_rendezvous.hpp>
#include <elastic/rendezvous/file_rendezvous.hpp>
#include <elastic/rendezvous/mixed_rendezvous.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/solo_rendezvous.hpp>
#include <elastic/rendezvous/static_rendezvous.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The rendezvous backends by name: those of this library, and those that you add.
///
/// A plain value; nothing is registered globally.
class rendezvous_registry {
 public:
  using factory =
      std::function<std::shared_ptr<rendezvous_handler>(const rendezvous_parameters&)>;

  /// Knows "static", "c10d", "etcd", "etcd-v2", "etcd-v3" and "file".
  rendezvous_registry() {
    add("static", [](const rendezvous_parameters& parameters) {
      return std::make_shared<static_rendezvous>(parameters);
    });
    add("c10d", [](const rendezvous_parameters& parameters) -> std::shared_ptr<rendezvous_handler> {
      // A job of one node needs no socket to meet.
      if (parameters.max_nodes == 1) return std::make_shared<solo_rendezvous>(parameters);
      return std::make_shared<mixed_rendezvous>(parameters);
    });
    for (const char* name : {"etcd", "etcd-v2", "etcd-v3"}) add(name, make_etcd_rendezvous);
    add("file", make_file_rendezvous);
  }

  /// Adds a backend, or replaces the one of that name.
  void add(std::string name, factory make) { factories_[std::move(name)] = std::move(make); }

  /// Makes the handler that `parameters.backend` names.
  /// Errors: `errc::invalid_argument` where there is none, naming those that there are; what the
  /// factory throws.
  std::shared_ptr<rendezvous_handler> make(const rendezvous_parameters& parameters) const {
    const auto found = factories_.find(parameters.backend);
    if (found != factories_.end()) return found->second(parameters);
    std::string names;
    for (const auto& [name, make] : factories_) names += (names.empty() ? "" : ", ") + name;
    throw error(errc::invalid_argument,
                fmt::format("there is no rendezvous backend '{}'; there are: {}",
                            parameters.backend, names));
  }

 private:
  std::map<std::string, factory> factories_;
};

}  // namespace elastic
