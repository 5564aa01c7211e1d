// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/job_command.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/run_result.hpp>
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
#include <elastic/telemetry/worker_progress.hpp>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

class job_journal;

/// A guest of an agent: it follows the workers, and takes part in starting, watching and stopping
/// them. An agent has a list of them (`agent_services::parts`), which it calls in order, and ends
/// and closes in reverse order. By default, each function does nothing.
///
/// If a function throws, the run of the agent fails with its error, and all parts are closed.
/// Exceptions of `started`, `progressed`, `ended`, `failing`, `hung`, `end` and `close` are only
/// logged. The agent waits for every function: one that blocks its thread blocks the agent.
///
/// Thread-safety: called on the agent's strand.
class ELASTIC_EXPORT agent_part {
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
    /// When it ended, and whether with success.
    time_point ended_at{};
    bool has_succeeded = false;
    /// When it last sent a message over the control channel; the clock's epoch: never.
    time_point heard_at{};
    /// The number of bytes of its output: those that the agent has copied, and those in its files.
    std::uint64_t written = 0;
    /// The file in which it reports a failure; empty: there is none.
    std::string error_file = {};
  };

  /// The services that an agent provides to its parts. Every member is set.
  struct context {
    asio::any_io_executor strand;
    /// The executor of the run's caller, for work that needs no strand.
    asio::any_io_executor executor;
    /// Starts workers without the parts.
    std::shared_ptr<process_launcher> launcher;
    std::shared_ptr<time_source> time;
    logger log;
    /// The number of this node's workers.
    int local_world_size = 1;
    /// The workers form a world. False: they are replicas, each of which restarts alone.
    bool has_world = true;
    /// A failure replaces the worker that failed, and the others continue
    /// (`worker_spec::on_failure`).
    bool replaces_workers = false;
    /// The job may run with fewer nodes than can take part (`local_agent::options::job_may_grow`).
    bool job_may_grow = false;
    /// The processes of the first attempt, without the values that only its round decides, such as
    /// ranks. Must not be called before the part is created. After the run: none.
    std::function<std::vector<process_spec>()> first_workers;
    /// The workers of this node that were started in the attempt. After the run: none.
    std::function<std::vector<attempt_worker>()> workers;
    /// The last lines of a worker's stderr; none if they are in a file that may hang. After the
    /// run: none.
    std::function<std::vector<std::string>(int local_rank)> last_stderr;
    /// Treats a worker of this node as hung, for this reason, and kills it. After the run: no
    /// effect.
    std::function<void(int local_rank, const std::string& reason)> end_hung;
    /// The agent's journal.
    std::shared_ptr<job_journal> journal;
    /// Carries out a command as `local_agent::carry_out` does. Callable on any strand, at any time.
    job_command::handler commands;
    /// Sends a signal to a worker of the job if it runs on this node, as `local_agent::signal_rank`
    /// and `replica_set::signal_replica` do. Callable on any strand, at any time.
    std::function<void(int rank, int number, std::string reason)> signal;
    /// Call it when a process of the part has ended and the part did not end it. If the kernel
    /// killed it for lack of memory, that is not counted as a sign that workers ran out of memory.
    std::function<void(const exit_status&)> process_ended;
  };

  /// Creates the part for one run of an agent, on the agent's strand. Parts that outlive the agent,
  /// or belong to several, are returned each time.
  using factory = std::function<std::shared_ptr<agent_part>(context)>;

  /// The workers of this node that have started or restarted.
  struct started_workers {
    /// The rendezvous round in which they run.
    std::int64_t round = 0;
    int world_size = 0;
    /// The number of nodes, and the rank of this one.
    int group_rank = 0;
    int group_world_size = 0;
    int restarts = 0;
    int max_restarts = 0;
    /// How many workers of this node continue from the previous round; 0: all were started.
    int stayed = 0;
    /// The ranks of this node that were replaced while other workers of the job continued.
    std::vector<int> replaced = {};
  };

  /// A worker that is about to be killed because it is hung.
  struct hung_worker {
    int rank = 0;
    int local_rank = 0;
    pid_t pid = 0;
    /// "no heartbeat for 12.3 s (allowed 10 s) in section 'all_reduce'".
    std::string reason;
  };

  agent_part() = default;
  agent_part(const agent_part&) = delete;
  agent_part& operator=(const agent_part&) = delete;
  virtual ~agent_part() = default;

  // ---- before workers run -----------------------------------------------------------------------

  /// Called once, before anything else.
  /// @param inner  the launcher of the parts before this one
  /// Result: the launcher for the workers.
  ELASTIC_DECL virtual std::shared_ptr<process_launcher> wrap(
      std::shared_ptr<process_launcher> inner);

  /// How long this node waits for `until_ready` before it meets the others. The longest of all
  /// parts counts.
  ELASTIC_DECL virtual duration join_delay();

  /// Called when the round must end while the workers are healthy.
  /// Result: how long they may continue at most, until `until_ready` returns. The longest of all
  /// parts counts.
  ELASTIC_DECL virtual duration stop_delay(const rendezvous_change& change);

  /// Awaited concurrently with `prepare_attempt` or `beside_workers`, at most for one of the two
  /// delays.
  ELASTIC_DECL virtual task<void> until_ready();

  /// Awaited while no worker runs: when this node waits for others, or for a restart.
  ELASTIC_DECL virtual task<void> prepare_attempt();

  /// Awaited when the ranks of a round are known and no worker of it runs, so that the nodes of the
  /// round can exchange data. If the round ends meanwhile, it is cancelled.
  /// @param ranks  those of this node's workers
  ELASTIC_DECL virtual task<void> agree(rendezvous_round round, assigned_ranks ranks);

  /// Called before workers are started in this round.
  ELASTIC_DECL virtual void begin_attempt(const rendezvous_round& round);

  /// The same, but some workers of the last attempt continue (`worker_spec::on_failure`): only the
  /// others are started. The default calls `begin_attempt`.
  ELASTIC_DECL virtual void begin_replacement(const rendezvous_round& round);

  /// Changes the variables of a worker, before those of `worker_spec::env` and those that the agent
  /// sets are added. Called when the worker is started, when it enters another epoch, and for
  /// processes that are only expected: before the first `agree`.
  ELASTIC_DECL virtual void change_environment(const worker_identity& worker,
                                               environment_map& variables);

  /// The descriptor that is passed to a worker (`process_spec::passed_fd`). It must stay open until
  /// `beside_workers` is called. -1, the default: none. The first part that has one decides.
  ELASTIC_DECL virtual int passed_descriptor(int local_rank);

  /// Called when all workers of the attempt have been started.
  /// Result: how they were started; empty if the part does not start workers. The first part that
  /// does decides.
  ELASTIC_DECL virtual std::optional<run_result::worker_starts> starts() const;

  // ---- while workers run ------------------------------------------------------------------------

  /// Called when workers of this node run, after each start and restart.
  virtual void started(const started_workers&) {}

  /// Called when a worker of this node has reported its progress.
  virtual void progressed(const worker_progress&) {}

  /// Called when a worker of this node has ended.
  virtual void ended(const attempt_worker&) {}

  /// Called when a worker of this node has reported a failure on stderr: the beginning of a Python
  /// traceback, or PyTorch's message that it cannot connect. Only for a stream that the agent
  /// copies.
  virtual void failing(int /*local_rank*/) {}

  /// Called before a hung worker is killed.
  virtual void hung(const hung_worker&) {}

  /// Called when a worker of this node has reported that its script can be run in advance up to
  /// `survive.prepare()`.
  ELASTIC_DECL virtual void prepared();

  /// Awaited while workers that form a world run, concurrently with the same function of the other
  /// parts.
  /// @param may_restart  whether another attempt can follow
  ELASTIC_DECL virtual task<void> beside_workers(bool may_restart);

  /// Carries out a command of the kind `stacks`. Awaited while workers run.
  /// Result: the outcome; empty if the part is not responsible. The first part that is decides.
  ELASTIC_DECL virtual task<std::optional<job_command::outcome>> carry_out(job_command command);

  /// Awaited while the workers of this node have succeeded and those of other nodes have not,
  /// concurrently with the same function of the other parts. It is cancelled when the wait ends.
  ELASTIC_DECL virtual task<void> beside_exit_barrier();

  // ---- when an attempt ends ---------------------------------------------------------------------

  /// Whether `last_look` should be awaited.
  ELASTIC_DECL virtual bool wants_last_look() const;

  /// Awaited while the workers of the attempt are still unchanged, before a hung worker is killed,
  /// or before the other workers are stopped when one has aborted. It must end soon, without being
  /// cancelled.
  /// Result: one sentence for the report about what the workers waited for; may be empty. The first
  /// part that has one decides.
  ELASTIC_DECL virtual task<std::string> last_look();

  /// Called when the workers are about to be stopped for a restart.
  ELASTIC_DECL virtual void end_attempt();

  /// Awaited when the workers have ended and no others will start, however the run ended, before
  /// the node leaves the rendezvous. When it returns, no process of the part is left.
  ELASTIC_DECL virtual task<void> end();

  /// Awaited last, however the run ended: the workers have ended, the node has left the rendezvous,
  /// and the journal has the outcome. When it returns, nothing of the part runs for this agent.
  ELASTIC_DECL virtual task<void> close();
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/agent_part.ipp>
#endif
