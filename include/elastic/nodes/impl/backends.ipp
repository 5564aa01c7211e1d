// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/backends.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/candidate_source.hpp>
#include <elastic/nodes/detail/static_rendezvous.hpp>
#include <elastic/rendezvous/detail/stored_rendezvous.hpp>

#include <memory>
#include <string>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline rendezvous_factory make_static(const rendezvous_parameters& parameters) {
  return new_shared<static_rendezvous>(parameters);
}

inline bool has_candidates(const rendezvous_parameters& parameters) {
  return parameters.max_nodes > 1 && parameters.endpoint.find(',') != std::string::npos;
}

inline rendezvous_factory make_c10d(const rendezvous_parameters& parameters) {
  // A job of one node needs no socket for its rendezvous.
  if (parameters.max_nodes == 1) return new_shared<stored_rendezvous>(parameters);
  if (has_candidates(parameters)) {
    throw error(errc::invalid_argument,
                fmt::format("{} '{}': include <elastic/nodes.hpp> and call "
                            "add_candidates(registry)",
                            parameters.name_of("endpoint"), parameters.endpoint));
  }
  const auto dialect = parameters.conf.find("dialect");
  if (dialect == parameters.conf.end() || dialect->second == "auto") {
    return new_shared<c10d_rendezvous>(parameters);
  }
  throw error(errc::invalid_argument, fmt::format("{}={}: {}", parameters.name_of("dialect"),
                                                  dialect->second, c10d_rendezvous::torch_hint));
}

}  // namespace detail

ELASTIC_DECL void add_nodes(rendezvous_registry& registry) {
  using enum detail::backend_capability;
  detail::add_library_backend(registry, "static", several_nodes, detail::make_static);
  detail::add_library_backend(registry, "c10d", several_nodes, detail::make_c10d);
}

ELASTIC_DECL void add_candidates(rendezvous_registry& registry) {
  using enum detail::backend_capability;
  detail::add_library_backend(registry, "static", several_nodes, detail::make_static);
  detail::add_library_backend(
      registry, "c10d", several_endpoints,
      [](const rendezvous_parameters& parameters) -> rendezvous_factory {
        if (!detail::has_candidates(parameters)) return detail::make_c10d(parameters);
        return detail::make_candidate_rendezvous(parameters);
      });
}

}  // namespace elastic
