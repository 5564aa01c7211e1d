// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace elastic::detail {

/// What an agent tells a job of several roles of its own role, and what its workers are told of the
/// others; see `agent_services::roles`.
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

  /// Calls this on the executor when the file has a new revision; until `close`.
  virtual void open(asio::any_io_executor executor, std::function<void(std::int64_t)> call) = 0;
  virtual void close() = 0;

  /// These workers are going to be started: chooses ports for each. The others keep theirs.
  /// Errors: `errc::connection_failed` if there is none.
  virtual void choose_ports(const std::vector<std::size_t>& slots) = 0;

  /// Those of one worker, by their names.
  virtual const port_map& ports(std::size_t slot) const = 0;

  /// What this node tells the others of its workers, in a round in which their ranks begin there.
  virtual std::string places(int base_rank) = 0;

  /// What the nodes of the round have told, this one included.
  /// Errors: `errc::protocol_violation`.
  virtual void met(const std::vector<std::string>& places) = 0;

  /// The workers of this node run, in a round of this number.
  virtual void started(std::int64_t round) = 0;

  /// One of them has ended.
  virtual void ended(std::size_t slot) = 0;

  /// All of them are stopped, and those of the other nodes, too.
  virtual void stopped() = 0;
};

}  // namespace elastic::detail
