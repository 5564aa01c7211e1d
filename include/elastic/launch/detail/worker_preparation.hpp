// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/launch/launch_config.hpp>

#include <string>

namespace elastic::detail {

/// The workers of this node and their services, as derived from a launch_config.
struct prepared_workers {
  worker_spec workers;
  agent_services services;
  /// A warning to log when the workers run for the first time; empty: none.
  std::string notice;
};

/// Derives them. Errors: those of `make_agent`, except those of the rendezvous.
ELASTIC_DECL prepared_workers prepare_workers(const launch_config& config, agent_services services);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/worker_preparation.ipp>
#endif
