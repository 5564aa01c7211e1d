// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/roles/role.hpp>

#include <cstddef>
#include <functional>
#include <set>

namespace elastic::detail {

/// Detects when the workers of a role on this node are ready.
///
/// Thread-safety: that of agent_part.
class role_watch final : public agent_part {
 public:
  /// @param workers   how many workers of the role this node runs
  /// @param on_ready  called when all of them are ready, and again after each restart
  ELASTIC_DECL role_watch(elastic::role::readiness readiness, int workers,
                          std::function<void()> on_ready);

  ELASTIC_DECL void started(const started_workers& start) override;
  ELASTIC_DECL void progressed(const worker_progress& made) override;

 private:
  elastic::role::readiness readiness_;
  std::size_t workers_;
  std::function<void()> on_ready_;
  /// The local ranks that have reported.
  std::set<int> reported_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_watch.ipp>
#endif
