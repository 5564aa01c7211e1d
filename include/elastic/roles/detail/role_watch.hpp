// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/roles/role.hpp>

#include <cstddef>
#include <functional>
#include <set>
#include <utility>

namespace elastic::detail {

/// Detects when the workers of a role on this node are ready.
///
/// Thread-safety: that of agent_part.
class role_watch final : public agent_part {
 public:
  /// @param workers   how many workers of the role this node runs
  /// @param on_ready  called when all of them are ready, and again after each restart
  role_watch(elastic::role::readiness readiness, int workers, std::function<void()> on_ready);

  void started(const started_workers& start) override;
  void progressed(const worker_progress& made) override;

 private:
  elastic::role::readiness readiness_;
  std::size_t workers_;
  std::function<void()> on_ready_;
  /// The local ranks that have reported.
  std::set<int> reported_;
};

inline role_watch::role_watch(elastic::role::readiness readiness, int workers,
                              std::function<void()> on_ready)
    : readiness_(readiness),
      workers_(static_cast<std::size_t>(workers)),
      on_ready_(std::move(on_ready)) {}

inline void role_watch::started(const started_workers& start) {
  // Workers that kept their processes have reported before.
  if (start.stayed == 0) reported_.clear();
  if (readiness_ == elastic::role::readiness::start) on_ready_();
}

inline void role_watch::progressed(const worker_progress& made) {
  const bool is_first = reported_.insert(made.local_rank).second;
  const bool is_last = is_first && reported_.size() == workers_;
  if (is_last && readiness_ == elastic::role::readiness::progress) on_ready_();
}

}  // namespace elastic::detail
