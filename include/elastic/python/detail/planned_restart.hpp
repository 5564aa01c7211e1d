// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// The facts when a round must end while the workers of this node run.
struct planned_restart_view {
  rendezvous_change::cause why = rendezvous_change::cause::node_waiting;
  /// The remaining time until the workers must be gone.
  duration grace = duration::max();
  /// How many workers would restart without a standby.
  std::size_t cold = 0;
  /// The reason why no more standbys are made; empty if they are.
  std::optional<std::string> obstacle = {};
  /// Whether the job pauses, so that no worker starts until it resumes.
  bool is_pause = false;
};

/// The time for which the workers may continue until their standbys are ready, and a clause that
/// gives the reason.
struct planned_restart {
  /// The wait if a node wants to join, and if a node has left or is lost.
  static constexpr std::chrono::seconds patience{10};
  static constexpr std::chrono::seconds patience_lost{2};

  duration delay = duration::zero();
  std::string reason;
};

/// Decides whether healthy workers continue for a while, so that they can restart without repeating
/// their imports. Pure.
inline planned_restart plan_restart(const planned_restart_view& view) {
  const auto at_once = [](std::string reason) {
    return planned_restart{duration::zero(), std::move(reason)};
  };
  if (view.why == rendezvous_change::cause::worker_failed) return at_once("workers have failed");
  if (view.is_pause) return at_once("the job pauses");
  if (view.grace < duration::max()) return at_once("the others may continue without this node");
  if (view.obstacle) {
    return at_once("there are to be no standbys: " + *view.obstacle);
  }
  if (view.cold == 0) return at_once("every worker has a standby");
  const std::string missing =
      fmt::format("{} of them {} no standby yet", view.cold, view.cold == 1 ? "has" : "have");
  // Workers whose peers are gone may be blocked, so the wait is short.
  if (view.why == rendezvous_change::cause::node_lost) {
    return {planned_restart::patience_lost, missing};
  }
  return {planned_restart::patience, missing};
}

}  // namespace elastic::detail
