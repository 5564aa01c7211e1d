// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/agent_journal.hpp>
#include <elastic/agent/detail/pending_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The pause of a job, as far as this node knows of it. The workers of all nodes are stopped;
/// waiting for the next round is then all that an agent does: no worker has a peer that stands
/// still, for which it would wait until a time-out ends it.
///
/// Thread-safety: the agent's strand.
class job_pause {
 public:
  /// @param rendezvous  null as long as it is not chosen
  /// All of them must outlive it.
  ELASTIC_DECL job_pause(const std::shared_ptr<rendezvous_handler>& rendezvous,
                         agent_journal& journal, const logger& log);

  /// Has the job pause. The command is answered by `settle`; at once, if there is nothing to do.
  ELASTIC_DECL void begin(std::shared_ptr<pending_command> pending);

  /// Ends the pause that this node began, and answers the command.
  ELASTIC_DECL void resume(pending_command& pending);

  /// The job pauses, here or on another node.
  ELASTIC_DECL void note(std::string why);

  /// No worker of this node runs any more.
  ELASTIC_DECL void settle();

  /// A round was met: the job goes on.
  void forget() { reason_.reset(); }

  /// Why the job pauses; none: it does not, as far as is known.
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
#include <elastic/agent/detail/impl/job_pause.ipp>
#endif
