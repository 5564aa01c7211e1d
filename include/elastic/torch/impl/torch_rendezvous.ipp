// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/torch_rendezvous.hpp>

#include <elastic/rendezvous/detail/solo_rendezvous.hpp>
#include <elastic/rendezvous/native/detail/c10d_rendezvous.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/torch/detail/mixed_rendezvous.hpp>

#include <memory>
#include <string>

namespace elastic {

ELASTIC_DECL void add_torch_rendezvous(rendezvous_registry& registry) {
  const auto make =
      [](const rendezvous_parameters& parameters) -> std::shared_ptr<rendezvous_handler> {
    if (parameters.max_nodes == 1) return std::make_shared<detail::solo_rendezvous>(parameters);
    // Nodes of torchrun know one endpoint only.
    if (parameters.endpoint.find(',') != std::string::npos) {
      return std::make_shared<detail::c10d_rendezvous>(parameters);
    }
    return std::make_shared<detail::mixed_rendezvous>(parameters);
  };
  registry.add("c10d", make);
}

}  // namespace elastic
