// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace elastic::detail {

/// Connects an agent to a job of several roles: passes news of its own role to the job, and news of
/// the other roles to its workers. See `agent_services::connections`.
///
/// Thread-safety: called on the strand of the agent.
class role_link {
 public:
  using port_map = std::map<std::string, std::uint16_t, std::less<>>;

  virtual ~role_link() = default;

  /// The file for ELASTIC_ROLES.
  virtual std::string file() const = 0;

  /// The revision of that file.
  virtual std::int64_t revision() const = 0;

  /// Until `close`: calls `call` on `executor` whenever the file has a new revision.
  virtual void open(asio::any_io_executor executor, std::function<void(std::int64_t)> call) = 0;
  virtual void close() = 0;

  /// Chooses ports for workers that are about to start. The other workers keep theirs.
  /// Errors: `errc::connection_failed` if no port is free.
  virtual void choose_ports(const std::vector<std::size_t>& slots) = 0;

  /// The ports of one worker, by name.
  virtual const port_map& ports(std::size_t slot) const = 0;

  /// This node's report to the other nodes about the addresses of its workers, whose ranks begin at
  /// `base_rank` in this round.
  virtual std::string places(int base_rank) = 0;

  /// Takes the `places` of all nodes of the round, including this one.
  /// Errors: `errc::protocol_violation`.
  virtual void met(const std::vector<std::string>& places) = 0;

  /// Called when the workers of this node run, in the round of this number.
  /// @param pids  by local rank; 0: it does not run
  virtual void started(std::int64_t round, std::vector<pid_t> pids) = 0;

  /// Called when a worker has ended.
  virtual void ended(std::size_t slot) = 0;

  /// Called when all workers are stopped, including those of the other nodes.
  virtual void stopped() = 0;
};

}  // namespace elastic::detail
