// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/epoch_exchange.hpp>
#include <elastic/agent/detail/rounds/rejoin_machine.hpp>
#include <elastic/agent/detail/run/agent_journal.hpp>
#include <elastic/agent/detail/run/agent_telemetry.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_group.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The record of the epochs of a node's workers. An epoch lasts from their start, or their entry
/// into another world, until the world changes. Workers that can outlive an epoch keep their
/// processes. The record has the facts that nodes need for that, and measures what it saved.
///
/// Thread-safety: the agent's strand.
class epoch_record {
 public:
  /// All references must outlive this object.
  ELASTIC_DECL epoch_record(const worker_spec& spec, worker_group& group, agent_journal& journal,
                            agent_telemetry& telemetry, time_source& time, const logger& log);

  /// This node's report to the others about the last epoch; empty if workers never outlive an
  /// epoch.
  ELASTIC_DECL std::optional<node_epoch> last();

  /// How this node enters an epoch.
  struct entry {
    /// Some workers of the job continue in it.
    bool keeps_survivors = false;
    /// The same, and this node took part in the previous epoch.
    bool replaces = false;
  };

  /// Takes over the agreement of the nodes, and sets this node's group rank in the round.
  /// Errors: `errc::invalid_argument`: workers cannot outlive an epoch in this job.
  ELASTIC_DECL entry take(const epoch_agreement& agreement, rendezvous_round& round);

  /// Notes the reason why the workers of this node cannot stay.
  void set_obstacle(std::string why) { last_.obstacle = std::move(why); }

  /// Notes when this node first learned that the epoch is over.
  ELASTIC_DECL void end();
  void set_change(rendezvous_change change) { change_ = std::move(change); }

  /// Notes that the workers of the next epoch run.
  /// @param starting  the time at which the first of them was started
  /// Result: the time at which this node learned that the last epoch was over; `starting` for the
  /// first epoch
  ELASTIC_DECL time_point begin(time_point starting);

  /// Completes `start` with the workers of this node that are new while others stayed, and reports
  /// them to the journal, the metrics and the result.
  /// @param ended  what `begin` returned
  ELASTIC_DECL void report_replacement(agent_part::started_workers& start, time_point ended);
  ELASTIC_DECL void log_replacement(const std::vector<int>& replaced, time_point ended) const;

  /// A worker of this node has reported a step.
  ELASTIC_DECL void record_step(std::int64_t step);
  /// The time at which the furthest step of this epoch was reported; empty: none was.
  std::optional<time_point> stepped() const { return stepped_; }

  const run_result::rank_replacements& replacements() const { return replacements_; }

 private:
  const worker_spec& spec_;
  worker_group& group_;
  agent_journal& journal_;
  agent_telemetry& telemetry_;
  time_source& time_;
  const logger& log_;
  node_epoch last_;
  /// The time at which this node learned that the last epoch had ended (empty during an epoch), and
  /// the change that ended it.
  std::optional<time_point> ended_;
  std::optional<rendezvous_change> change_;
  /// The furthest step that any worker of this node has reported, and the time since which the
  /// workers have been behind it; empty: they have reached it again.
  std::optional<std::int64_t> furthest_;
  std::optional<time_point> behind_since_;
  /// The furthest step of this epoch, and when it was reported.
  std::optional<std::int64_t> step_;
  std::optional<time_point> stepped_;
  run_result::rank_replacements replacements_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/rounds/epoch_record.ipp>
#endif
