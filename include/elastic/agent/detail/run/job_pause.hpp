// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/agent_journal.hpp>
#include <elastic/agent/detail/run/pending_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The pause of a job, as far as this node knows. The workers of all nodes are stopped, and each
/// agent only waits for the next round. So no worker waits for a paused peer until a time-out.
///
/// Thread-safety: the agent's strand.
class job_pause {
 public:
  /// @param rendezvous  null until it is chosen
  /// All arguments must outlive this object.
  ELASTIC_DECL job_pause(const std::shared_ptr<rendezvous_handler>& rendezvous,
                         agent_journal& journal, const logger& log);

  /// Pauses the job. `settle` answers the command; if there is nothing to do, this answers it at
  /// once.
  ELASTIC_DECL void begin(std::shared_ptr<pending_command> pending);

  /// Ends the pause that this node began, and answers the command.
  ELASTIC_DECL void resume(pending_command& pending);

  /// Notes that the job pauses, by request of this node or of another one.
  ELASTIC_DECL void note(std::string why);

  /// Notes that no worker of this node runs any more, and answers the command.
  ELASTIC_DECL void settle();

  /// Notes that a round was joined: the job continues.
  void forget() { reason_.reset(); }

  /// The reason why the job pauses; empty: it does not, as far as this node knows.
  const std::optional<std::string>& reason() const { return reason_; }

 private:
  const std::shared_ptr<rendezvous_handler>& rendezvous_;
  agent_journal& journal_;
  const logger& log_;
  std::optional<std::string> reason_;
  bool is_own_ = false;
  std::shared_ptr<pending_command> pending_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/job_pause.ipp>
#endif
