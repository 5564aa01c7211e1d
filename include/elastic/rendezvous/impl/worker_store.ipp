// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/worker_store.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/rendezvous/detail/stored_rendezvous.hpp>

namespace elastic {

ELASTIC_DECL void add_worker_store(rendezvous_registry& registry) {
  detail::add_library_backend(
      registry, "c10d", detail::backend_capability::worker_store,
      [](const rendezvous_parameters& parameters) -> rendezvous_factory {
        if (parameters.max_nodes > 1) return detail::make_solo(parameters);
        return detail::new_shared<detail::stored_rendezvous>(parameters);
      });
}

}  // namespace elastic
