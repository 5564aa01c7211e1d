// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <elastic/rendezvous/etcd/etcd_rendezvous.hpp>
#include <elastic/rendezvous/file/file_rendezvous.hpp>
#include <elastic/rendezvous/solo_rendezvous.hpp>
#include <elastic/rendezvous/static_rendezvous.hpp>
#include <elastic/rendezvous/torch/mixed_rendezvous.hpp>

namespace elastic {

ELASTIC_DECL rendezvous_registry::rendezvous_registry()
    : named_factories("there is no rendezvous backend") {
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

ELASTIC_DECL std::shared_ptr<rendezvous_handler> rendezvous_registry::make(
    const rendezvous_parameters& parameters) const {
  return named_factories::make(parameters.backend, parameters);
}

}  // namespace elastic
