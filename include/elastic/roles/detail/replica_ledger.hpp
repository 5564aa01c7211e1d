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

/// Decides whether and when a replica that has failed starts again. Pure: it looks at no clock.
///
/// The restarts are those of all replicas together. How long one waits, and whether it makes
/// progress, is its own affair: a replica that crashes again and again does not delay the others.
class replica_ledger {
 public:
  /// @param spec  that of the replicas; its `max_restarts` is of all of them together
  ELASTIC_DECL explicit replica_ledger(const worker_spec& spec);

  /// It runs.
  void started(std::size_t replica, time_point now) { lives_[replica].started(now); }

  /// It has failed.
  /// @param step  the last that it had reported; none if it had not
  ELASTIC_DECL restart_ledger::decision failed(std::size_t replica, const exit_status& end,
                                               std::optional<std::int64_t> step, time_point now);

  /// How often it has failed.
  int failures(std::size_t replica) const { return lives_[replica].failures(); }

  /// How often any of them has.
  int failures() const { return all_.failures(); }

 private:
  restart_ledger all_;
  std::vector<restart_ledger> lives_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/impl/replica_ledger.ipp>
#endif
