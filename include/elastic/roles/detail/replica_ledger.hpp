// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/restart_ledger.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_status.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace elastic::detail {

/// Decides whether and when a failed replica restarts. Pure: it reads no clock.
///
/// The number of restarts is that of all replicas together. Delay and progress are counted for each
/// replica alone, so that one that crashes repeatedly does not delay the others.
class replica_ledger {
 public:
  /// @param spec  the replicas; `max_restarts` applies to all of them together
  ELASTIC_DECL explicit replica_ledger(const worker_spec& spec);

  /// A replica runs.
  void started(std::size_t replica, time_point now) { lives_[replica].started(now); }

  /// A replica has failed.
  /// @param step  the last step that it reported; empty: it reported none
  ELASTIC_DECL restart_ledger::decision failed(std::size_t replica, const exit_status& end,
                                               std::optional<std::int64_t> step, time_point now);

  /// How often the replica has failed.
  int failures(std::size_t replica) const { return lives_[replica].failures(); }

  /// How often replicas have failed in total.
  int failures() const { return all_.failures(); }

 private:
  restart_ledger all_;
  std::vector<restart_ledger> lives_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/replica_ledger.ipp>
#endif
