// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/unserved_store.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/port_use.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// How long workers may take to reach `init_process_group` before the log names the missing ones:
/// from their start, or from the arrival of the first if that is later.
inline constexpr std::chrono::seconds arrival_patience{30};

/// A running worker of this node.
struct worker_arrival {
  std::int64_t rank = 0;
  pid_t pid = 0;
  /// Whether it is connected to the workers' store; empty: unknown.
  std::optional<port_use> use = {};
};

/// Which workers have connected to the workers' store.
struct arrivals {
  /// The workers of this node, by rank.
  std::vector<worker_arrival> own = {};
  /// Whether all workers of this node still run.
  bool do_all_run = true;
  /// The number of the job's ranks that have connected; empty: this node does not serve the store.
  std::optional<std::int64_t> come = {};
  std::int64_t world = 1;
  /// "10.0.0.7:29500".
  std::string store = {};
  /// The stores that a missing worker of this node tries to reach.
  sought_stores sought = {};
};

/// A function that returns the workers of a job, about which only one fact is known: that they run.
using arrival_source = std::function<arrivals()>;

/// Logs once which workers have not reached the store.
///
/// @param port  the port of the store
/// Result: the logged sentence; empty: all have reached it, or nothing is known.
/// Cancellation: all types.
ELASTIC_DECL task<std::string> report_arrivals(std::shared_ptr<time_source> time, logger log,
                                               arrival_source source, std::uint16_t port);

/// Inspects the connections of workers to a port, on a separate thread.
///
/// @param workers  without `use`
/// Cancellation: all types.
ELASTIC_DECL task<std::vector<worker_arrival>> look_for_arrivals(
    std::vector<worker_arrival> workers, std::uint16_t port);

/// Names the missing workers in one sentence. Empty if no worker is missing, if none has connected
/// (so that the job may not use the store) nor seeks another store in vain, or if nothing is known.
ELASTIC_DECL std::string missing_workers(const arrivals& seen);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/rounds/arrivals.ipp>
#endif
