// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/job_command.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/worker_starts.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

class job_journal;

/// What an opt-in module adds to an agent at defined points, for example processes that are started
/// before workers need them (`add_warm_standbys`). Each function does nothing unless it is
/// overridden. The run of an agent creates and owns one object. If the executor's context is
/// destroyed while the agent runs, the object is destroyed without `close`.
///
/// Errors: an exception from a task ends the run, as an error of the agent.
/// Cancellation: the agent cancels each task, with all types, when it continues.
/// Thread-safety: the agent calls everything on its strand.
class agent_extension {
 public:
  /// A worker of this node in the current attempt.
  struct attempt_worker {
    int rank = 0;
    int local_rank = 0;
    pid_t pid = 0;
    /// The last step that it reported (-1 if none), and when.
    std::int64_t step = -1;
    time_point step_at{};
    /// How it ended; empty while it runs.
    std::string end = {};
  };

  /// What an agent provides to its extension. Every member is set.
  struct context {
    asio::any_io_executor strand;
    /// Starts workers without the extension.
    std::shared_ptr<process_launcher> launcher;
    std::shared_ptr<time_source> time;
    logger log;
    /// The number of this node's workers.
    int local_world_size = 1;
    /// The job may run with fewer nodes than can take part (`local_agent::options::job_may_grow`).
    bool job_may_grow = false;
    /// The processes of the first attempt, without what only its round decides, such as ranks. Must
    /// not be called before the extension is created.
    std::function<std::vector<process_spec>()> first_workers;
    /// The workers of this node that were started in the attempt.
    std::function<std::vector<attempt_worker>()> workers;
    /// Treats a worker of this node as hung, for this reason, and kills it.
    std::function<void(int local_rank, const std::string& reason)> end_hung;
    /// The agent's journal.
    std::shared_ptr<job_journal> journal;
    /// To be called when a process of the extension has ended and was not ended by the extension.
    /// If the kernel killed it for lack of memory, that says nothing about the workers.
    std::function<void(const exit_status&)> process_ended;
  };

  /// Creates the agent_extension of one run of an agent, on the agent's strand.
  using factory = std::function<std::unique_ptr<agent_extension>(context)>;

  agent_extension() = default;
  agent_extension(const agent_extension&) = delete;
  agent_extension& operator=(const agent_extension&) = delete;
  virtual ~agent_extension() = default;

  /// Called once, before anything else.
  /// Result: the launcher for the workers, in front of `context.launcher`; null: `context.launcher`
  /// itself.
  ELASTIC_DECL virtual std::shared_ptr<process_launcher> launcher();

  /// How long this node waits for `until_ready` before it meets the others.
  ELASTIC_DECL virtual duration join_delay();

  /// Called when the round must end while the workers are healthy.
  /// Result: how long they may continue at most, until `until_ready` returns.
  ELASTIC_DECL virtual duration stop_delay(const rendezvous_change& change);

  /// Awaited concurrently with `prepare_attempt` or `beside_workers`, at most for one of the two
  /// delays.
  ELASTIC_DECL virtual task<void> until_ready();

  /// Awaited while no worker runs: when this node waits for others, or for a restart.
  ELASTIC_DECL virtual task<void> prepare_attempt();

  /// Awaited when the ranks of a round are known and no worker of it runs, for what the nodes of
  /// the round have to tell each other. If the round ends meanwhile, it is cancelled.
  /// @param ranks  those of this node's workers
  ELASTIC_DECL virtual task<void> agree(rendezvous_round round, assigned_ranks ranks);

  /// Changes the variables that a worker gets, before those of `worker_spec::env` and those that
  /// the agent sets are added. Called when it is started, when it is told of another epoch, and
  /// for processes that are only expected: before the first `agree`.
  ELASTIC_DECL virtual void change_environment(const worker_identity& worker,
                                               environment_map& variables);

  /// The descriptor that a worker gets (`process_spec::passed_fd`), which must stay open until
  /// `beside_workers` is called; -1, the default: none.
  ELASTIC_DECL virtual int passed_descriptor(int local_rank);

  /// Called before workers are started in this round.
  ELASTIC_DECL virtual void begin_attempt(const rendezvous_round& round);

  /// The same, but some workers of the last attempt continue (`worker_spec::on_failure`): only the
  /// others are started. The default calls `begin_attempt`.
  ELASTIC_DECL virtual void begin_replacement(const rendezvous_round& round);

  /// Called when all workers of the attempt have been started.
  /// Result: how they were started; empty if the extension does not start workers.
  ELASTIC_DECL virtual std::optional<worker_starts> starts() const;

  /// Called when a worker of this node has reported a step.
  ELASTIC_DECL virtual void stepped(std::int64_t step);

  /// Called when a worker of this node has reported that its script can be run in advance up to a
  /// point.
  ELASTIC_DECL virtual void prepared();

  /// Awaited while workers run.
  /// @param may_restart  whether another attempt can follow
  ELASTIC_DECL virtual task<void> beside_workers(bool may_restart);

  /// Carries out a command for which the extension is responsible: `stacks`. Awaited while workers
  /// run.
  /// Result: the outcome. The default does not carry it out.
  ELASTIC_DECL virtual task<job_command::outcome> carry_out(job_command command);

  /// Whether `last_look` should be awaited.
  ELASTIC_DECL virtual bool looks_last() const;

  /// Awaited while the workers of the attempt are still unchanged, before a hung worker is killed,
  /// or before the other workers are stopped when one has aborted. It must end soon, without being
  /// cancelled.
  /// Result: one sentence for the report about what the workers waited for; may be empty.
  ELASTIC_DECL virtual task<std::string> last_look();

  /// Called when the workers are about to be stopped for a restart.
  ELASTIC_DECL virtual void end_attempt();

  /// Called last, after the workers have ended. When it returns, nothing of the extension runs.
  ELASTIC_DECL virtual task<void> close();
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/agent_extension.ipp>
#endif
