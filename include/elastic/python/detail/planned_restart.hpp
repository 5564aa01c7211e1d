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

/// What is known when a round is to end while the workers of this node run.
struct planned_restart_view {
  rendezvous_change::cause why = rendezvous_change::cause::node_waiting;
  /// By when the workers are to be gone, from now on.
  duration grace = duration::max();
  /// Workers that would start again without a standby.
  std::size_t cold = 0;
  /// Why no more standbys are made; none if they are.
  std::optional<std::string> off = {};
  /// Whether none is to start before the job goes on.
  bool is_pause = false;
};

/// How long the workers go on at most until their standbys are ready, and why: half a sentence.
struct planned_restart {
  /// If a node waits to join, and if one has left or is lost.
  static constexpr std::chrono::seconds patience{10};
  static constexpr std::chrono::seconds patience_lost{2};

  duration within = duration::zero();
  std::string reason;
};

/// Decides whether workers that are well go on for a while, so that they start again without their
/// imports. Pure.
ELASTIC_DECL planned_restart plan_restart(const planned_restart_view& view);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/planned_restart.ipp>
#endif
