// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace elastic::detail {

/// The facts when a round must end while the workers of this node run.
struct planned_restart_view {
  rendezvous_change::cause why = rendezvous_change::cause::node_waiting;
  /// How much time is left until the workers must be gone.
  duration grace = duration::max();
  /// How many workers would restart without a standby.
  std::size_t cold = 0;
  /// Why no more standbys are made; empty if they are.
  std::optional<std::string> obstacle = {};
  /// Whether the job pauses, so that no worker starts until it resumes.
  bool is_pause = false;
};

/// How long the workers may continue until their standbys are ready, and a clause that gives the
/// reason.
struct planned_restart {
  /// The wait if a node wants to join, and if a node has left or is lost.
  static constexpr std::chrono::seconds patience{10};
  static constexpr std::chrono::seconds patience_lost{2};

  duration delay = duration::zero();
  std::string reason;
};

/// Decides whether healthy workers continue for a while, so that they can restart without repeating
/// their imports. Pure.
ELASTIC_DECL planned_restart plan_restart(const planned_restart_view& view);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/planned_restart.ipp>
#endif
