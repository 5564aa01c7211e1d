// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/planned_restart.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL planned_restart plan_restart(const planned_restart_view& view) {
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
