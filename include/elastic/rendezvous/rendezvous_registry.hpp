// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/named_factories.hpp>
#include <elastic/rendezvous/etcd_rendezvous.hpp>
#include <elastic/rendezvous/file_rendezvous.hpp>
#include <elastic/rendezvous/mixed_rendezvous.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/solo_rendezvous.hpp>
#include <elastic/rendezvous/static_rendezvous.hpp>

#include <memory>

namespace elastic {

/// The rendezvous backends by name: those of this library, and those that you add.
class rendezvous_registry
    : public named_factories<rendezvous_handler, const rendezvous_parameters&> {
 public:
  /// Knows "static", "c10d", "etcd", "etcd-v2", "etcd-v3" and "file".
  rendezvous_registry() : named_factories("there is no rendezvous backend") {
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

  /// Makes the handler that `parameters.backend` names; errors as above.
  std::shared_ptr<rendezvous_handler> make(const rendezvous_parameters& parameters) const {
    return named_factories::make(parameters.backend, parameters);
  }
};

}  // namespace elastic
