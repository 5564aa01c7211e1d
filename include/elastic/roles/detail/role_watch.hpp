// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/roles/role.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <set>

namespace elastic::detail {

/// Detects when the workers of a role on this node are ready, and forwards all events to another
/// observer.
///
/// Thread-safety: that of worker_observer.
class role_watch final : public worker_observer {
 public:
  /// @param workers   how many workers of the role this node runs
  /// @param next      may be null
  /// @param on_ready  called when all of them are ready, and again after each restart
  ELASTIC_DECL role_watch(elastic::role::readiness readiness, int workers,
                          std::shared_ptr<worker_observer> next, std::function<void()> on_ready);

  ELASTIC_DECL void started(const started_workers& start) override;
  ELASTIC_DECL void progress(const worker_progress& progress) override;
  ELASTIC_DECL void hung(const hung_worker& worker) override;

 private:
  elastic::role::readiness readiness_;
  std::size_t workers_;
  std::shared_ptr<worker_observer> next_;
  std::function<void()> on_ready_;
  /// The local ranks that have reported.
  std::set<int> reported_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/impl/role_watch.ipp>
#endif
