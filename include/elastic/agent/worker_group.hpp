// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/detail/rounds/survivors.hpp>
#include <elastic/agent/detail/run/agent_parts.hpp>
#include <elastic/agent/detail/run/role_link.hpp>
#include <elastic/agent/detail/workers/attempt_verdict.hpp>
#include <elastic/agent/detail/workers/hang_hooks.hpp>
#include <elastic/agent/detail/workers/process_builder.hpp>
#include <elastic/agent/detail/workers/worker_calls.hpp>
#include <elastic/agent/detail/workers/worker_files.hpp>
#include <elastic/agent/detail/workers/worker_leftovers.hpp>
#include <elastic/agent/detail/workers/worker_watch.hpp>
#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/logs_specs.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/descriptor_share.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/control/worker_channels.hpp>
#include <elastic/control/worker_message.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/process_set.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/process/stop_plan.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <sys/types.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// The identities of this node's workers in a round, by local rank.
ELASTIC_DECL std::vector<worker_identity> worker_identities(const worker_spec& spec,
                                                            const rendezvous_round& round,
                                                            const assigned_ranks& ranks);

/// The settings that the workers of this node share in a round.
ELASTIC_DECL job_context make_job_context(const worker_spec& spec, const rendezvous_round& round,
                                          std::string run_id, int restart_count);

namespace detail {

/// Whether a worker that ended after the stop ended because of it, and not by a crash at the same
/// time.
ELASTIC_DECL bool is_due_to_stop(const exit_status& status, int stop_signal);

}  // namespace detail

/// The workers of this node: started together, watched together, stopped together.
///
/// It offers the steps of the agent as separate functions, from which you can compose your own
/// agent.
/// Thread-safety: one strand at a time, that of the executor it was given.
class worker_group {
 public:
  /// One worker of this node, in the attempt that was started last.
  struct worker {
    worker_identity identity;
    pid_t pid = 0;
    std::string error_file;
    /// How it ended; empty while it runs.
    std::optional<process_set::process_end> end;
    /// The reason why it was considered hung and killed; empty: it was not.
    std::string hung;
    /// It ended after `worker_group::stop` had told it to.
    bool stopped_by_agent = false;
    /// It was killed while the kernel was killing processes because memory had run out.
    bool out_of_memory = false;
    /// Whether it was started for an earlier epoch.
    bool has_stayed = false;
    /// How often workers had failed when it was started; for a replica, how often this one had.
    int restart_count = 0;
    /// Whether its start has been reported (see `worker_group::on_start`).
    bool is_start_reported = false;
  };

  /// The reports of workers that concern the whole attempt. A field is empty if no worker reported
  /// it.
  struct worker_reports {
    /// Why the job must not be restarted if this attempt fails.
    std::optional<std::string> no_restart;
    /// Whether a worker asked for that itself, so that another run of the job would not help
    /// either.
    bool is_hopeless = false;
    /// Why this node must leave the job.
    std::optional<std::string> bad_node;
    /// The furthest step.
    std::optional<std::int64_t> furthest_step;
  };

  /// `layout` must outlive the group. Empty services are replaced by the defaults of
  /// `complete_services`.
  ELASTIC_DECL worker_group(asio::any_io_executor strand, worker_spec spec,
                            const agent_services& services, log_layout& layout);
  ELASTIC_DECL ~worker_group();

  worker_group(const worker_group&) = delete;
  worker_group& operator=(const worker_group&) = delete;

  /// From now on, if a worker fails, the others are asked to end at once, before `wait_for_outcome`
  /// returns. If hooks inspect hung workers at that time, this happens when the hooks are done.
  /// `stop` with the same plan continues this stop.
  void stop_on_failure(stop_plan plan) { on_failure_ = plan; }

  /// Sets a function, which must not throw, that is called when all workers of a start have been
  /// started. Workers that became hung or ended meanwhile are recorded in the journal only after
  /// the call.
  void on_start(std::function<void()> call) { on_start_ = std::move(call); }

  /// Adds a part to the group, which calls the part's functions about workers. Its functions about
  /// rounds and commands are not called: only an agent calls them. Call this before `start`.
  ELASTIC_DECL void attach(std::shared_ptr<agent_part> part);

  /// Makes the workers replicas: they form no world, and the end of one does not affect the others.
  /// Instead, `call`, which must not throw, is called with its local rank. Call this before
  /// `start`, whose round and ranks then only number the replicas in their role.
  void treat_as_replicas(std::function<void(std::size_t local_rank)> call) {
    on_replica_end_ = std::move(call);
  }

  /// Ends what is left of a worker that has ended, and waits for its last output.
  ///
  /// Errors and cancellation: those of `process_set::clear`.
  task<void> clear(std::size_t local_rank) & { return processes_.clear(local_rank); }

  /// Restarts a replica that has ended, while the others run.
  ///
  /// @param restart_count  how often this replica has failed
  /// Result: the replica runs. Errors: those of `start`; the replica then does not run.
  /// `errc::invalid_argument` if it has not ended.
  /// Cancellation: all types; the replica may then run. One call at a time.
  ELASTIC_DECL task<void> restart(std::size_t local_rank, std::string run_id, int restart_count) &;

  /// Starts all replicas again after a `stop`. The number of the round must be greater than before.
  ///
  /// @param restart_counts  by local rank, how often each replica has failed; must exist until the
  ///                        task is awaited
  /// Result, errors and cancellation: those of `start`.
  ELASTIC_DECL task<void> start_replicas(rendezvous_round round, assigned_ranks ranks,
                                         std::string run_id,
                                         named<std::vector<int>> restart_counts) &;

  /// Treats a running worker as hung, for `reason`.
  ELASTIC_DECL void end_hung(int local_rank, const std::string& reason);

  /// The workers that were started in this attempt.
  ELASTIC_DECL std::vector<agent_part::attempt_worker> attempt_workers() const;

  /// The last lines of stderr of a worker of this attempt; none if they are in a file that may
  /// hang.
  ELASTIC_DECL std::vector<std::string> last_stderr(int local_rank) const;

  /// Starts every worker for a round. The workers of the previous round must have been stopped
  /// (`stop`).
  ///
  /// Result: all workers run. If workers have run before and log files cannot be created, such as
  /// on a full disk, they run without those, their output is shown, and the log says so.
  /// Errors: those of the launcher and `errc::file_access`; then no worker runs.
  /// `errc::invalid_argument` if workers run or are being started; these are not affected.
  /// Cancellation: all types; then no worker runs.
  ELASTIC_DECL task<void> start(rendezvous_round round, assigned_ranks ranks, std::string run_id,
                                int restart_count) &;

  /// Ends the epoch of the workers: lets those that can rejoin leave it, within
  /// `worker_spec::rejoin_timeout` and `most`, and then ends the others with everything that they
  /// left behind.
  ///
  /// Result: the reason why all workers of the job must restart, which keep running until `stop`.
  /// Empty: the running workers wait for `rejoin`.
  /// Errors: those of `process_set::clear`. Cancellation: all types; `stop` must follow.
  ELASTIC_DECL task<std::string> leave_epoch(bool is_pause, duration most) &;

  /// The reason why the running workers cannot outlive the epoch, as far as this node knows; empty:
  /// they can.
  ELASTIC_DECL std::string epoch_obstacle() const;

  /// Begins an epoch in which some workers of the job keep their processes: tells the waiting
  /// workers of this node about it, and starts the others.
  ///
  /// Result, errors and cancellation: those of `start`.
  ELASTIC_DECL task<void> rejoin(rendezvous_round round, assigned_ranks ranks, std::string run_id,
                                 int restart_count) &;

  /// Answers workers that ask whether their epoch has ended. If none can rejoin, it waits for the
  /// outcome.
  ///
  /// Cancellation: all types; nothing else ends this during an epoch.
  ELASTIC_DECL task<void> answer_questions() &;

  /// The processes that `start` will start, as far as they are known before a round; empty if the
  /// workers run a function.
  ELASTIC_DECL std::vector<process_spec> expected_processes(std::string run_id) const;

  /// Waits until the group's outcome is known: all workers have succeeded, one has failed (or is
  /// hung, or reported that the node is bad), or all have ended because of `stop` or `kill`.
  /// `state()` then says which. After a failure, the other workers still run (see
  /// `stop_on_failure`).
  ///
  /// Cancellation: all types, no effect; may be awaited again.
  ELASTIC_DECL task<void> wait_for_outcome() &;

  /// Checks periodically whether a worker has been in uninterruptible sleep for as long as
  /// TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT in the workers' environment says. Such a worker
  /// counts as hung; the group then has failed, and must not be restarted. Without that variable
  /// this waits for the outcome, without a timer.
  ///
  /// Cancellation: all types; nothing else ends it while it samples.
  ELASTIC_DECL task<void> watch_uninterruptible() &;

  /// Samples the workers, as often as the spec says, and reports to the log and the journal when
  /// one of them starts or stops holding up the others; it only reports them. If the spec disables
  /// this, it waits for the outcome, without a timer.
  ///
  /// Cancellation: all types; nothing else ends it while it samples.
  ELASTIC_DECL task<void> watch_work() &;

  /// Waits at most `timeout` until the hooks that inspect hung workers are done; then kills them.
  /// Call it before `stop`, if there is time.
  ///
  /// Cancellation: all types; throws `operation_aborted`, and the hooks continue.
  task<void> finish_hooks(duration timeout) & { return hooks_.finish(timeout); }

  /// Kills the hooks that inspect hung workers, and then these workers.
  void end_hooks() { hooks_.stop_waiting(); }

  /// Stops everything that runs: the plan's signal to all, its grace period, SIGKILL; hooks that
  /// inspect hung workers are killed at once. When this returns, no process of the workers' and the
  /// hooks' trees that can be found is left, and all their output is written, except for what hangs
  /// (see `process_set::stop`). The files of failed workers on a file system that may hang have
  /// been read, unless that took longer than `limits::log_directory_patience`.
  ///
  /// Cancellation: all types; throws and leaves the stop incomplete. Call it again, with the same
  /// plan or another. `kill` makes it end at once.
  ELASTIC_DECL task<void> stop(stop_plan plan) &;

  /// Asks the workers that accept requests for a checkpoint, over the control channel.
  ///
  /// Result: available once all have answered or ended, at the latest after `timeout`.
  /// Cancellation: all types; throws `operation_aborted`.
  task<worker_channels::checkpoint_outcome> checkpoint(duration timeout) & {
    return channels_.checkpoint(timeout);
  }

  /// Tells the workers on the control channel to pause, or to continue.
  void pause() { channels_.pause(); }
  void resume() { channels_.resume(); }

  /// What the workers have reported in this attempt.
  const worker_reports& reports() const { return attempt_.reports; }

  /// Notifies the parts that the workers run.
  void announce(const agent_part::started_workers& start) { parts_->started(start); }

  /// Passes a signal on to every running worker, and to those that are being started as soon as
  /// they run.
  void signal(int number) { processes_.signal(number); }

  /// The same for one of them.
  void signal(std::size_t local_rank, int number) { processes_.signal(local_rank, number); }

  /// Kills every running worker; a stop in progress then ends at once. If none is in progress, call
  /// `stop` next.
  ELASTIC_DECL void kill();

  /// The same for the workers that take part in an epoch, so that others may begin the next one:
  /// those that have left it, and those that an error has taken out of it, stay.
  /// Result: whether there were any.
  ELASTIC_DECL bool kill_inside();

  worker_state state() const { return attempt_.state; }

  /// How many workers run.
  std::size_t running() const { return processes_.running(); }

  /// The error with which a run ends. Before workers have run, the caller can correct some errors
  /// (a value, a file, a port) and try again; afterwards, each is the failure of a running job:
  /// `errc::start_failed`, with the same text.
  ELASTIC_DECL std::exception_ptr error_of_run(std::exception_ptr failure) const;

  /// The number of workers that are being started.
  std::size_t starting() const { return processes_.starting(); }

  /// The workers of the last attempt, by local rank.
  const std::vector<worker>& workers() const { return attempt_.workers; }

  /// The workers that are known to have failed, in the order of their ends: the first is the cause
  /// of the others.
  ELASTIC_DECL std::vector<const worker*> failed() const;

  /// The first worker that failed; null if none did.
  ELASTIC_DECL const worker* first_failed() const;

  /// The failure of that worker with its error file and output; empty if no worker failed, or if
  /// the agent stopped it. Call it after `stop`.
  ELASTIC_DECL std::optional<run_result::failure> first_failure() const;

  /// The workers that did not succeed, in the order of their ends. Call it after `stop`: their
  /// output is complete only then.
  ELASTIC_DECL std::vector<run_result::failure> failures(const std::string& host) const;

  /// The return values of the workers' function, by rank in the job, of those workers that
  /// succeeded and left a value. Call it after `stop`.
  ELASTIC_DECL std::map<int, std::string> return_values() const;

  /// Discounts one kill for lack of memory. Call it when a process other than a worker was killed,
  /// so that no worker is reported as out of memory because of it.
  ELASTIC_DECL void forgive_oom_kill();

 private:
  friend detail::internals;

  /// Replaces all parts by those of an agent, before `start`.
  ELASTIC_DECL void attach(std::shared_ptr<detail::agent_parts> parts);

  struct completed {};
  ELASTIC_DECL worker_group(completed, asio::any_io_executor strand, worker_spec spec,
                            const agent_services& services, log_layout& layout);
  ELASTIC_DECL process_set::services process_services(const agent_services& services);
  ELASTIC_DECL detail::hang_hooks_services hook_services(const agent_services& services);
  ELASTIC_DECL worker_channels::options channel_options(const agent_services& services);
  ELASTIC_DECL std::string statement_of(int local_rank, const char* statement,
                                        const std::string& reason) const;
  ELASTIC_DECL void end_hung(const worker_channels::hung_worker& found);
  ELASTIC_DECL void end_stuck(std::size_t slot, duration slept);
  ELASTIC_DECL detail::hang_hook_call hook_for(agent_part::hung_worker hung) const;

  using sights = std::vector<std::optional<detail::worker_sample>>;
  ELASTIC_DECL task<sights> look_at_workers();
  ELASTIC_DECL std::optional<detail::worker_sample> look_at_worker(std::size_t slot);
  ELASTIC_DECL agent_part::attempt_worker attempt_worker_of(std::size_t slot) const;
  ELASTIC_DECL std::uint64_t written_by(std::size_t slot) const;
  ELASTIC_DECL void record_suspicion(const detail::suspicion_change& change);

  /// A reader for the last output of a worker of this node.
  ELASTIC_DECL std::optional<detail::output_reader> output_of(std::int64_t rank) const;

  /// The streams of all workers of this node.
  ELASTIC_DECL detail::output_sources output_sources() const;

  // Sends the pending signals to hung workers, which no hook inspects any more.
  ELASTIC_DECL void send_pending_kills();
  ELASTIC_DECL void take(int local_rank, const worker_messages::worker_message& message);
  ELASTIC_DECL void take(int local_rank, const worker_messages::progress& progress);
  ELASTIC_DECL void take(int local_rank, const worker_messages::no_restart& wish);
  ELASTIC_DECL void take(int local_rank, const worker_messages::bad_node& notice);

  ELASTIC_DECL void record_event(job_event::type kind, const worker& entry, std::string reason,
                                 job_event::suspicion suspicion = job_event::suspicion::none);
  ELASTIC_DECL void record_hung(const worker& entry);
  ELASTIC_DECL void record_end(const worker& entry);

  // The worker that a process is or descends from. If the pid was reused meanwhile, the only harm
  // is a timer that belongs to another process of the worker's tree.
  ELASTIC_DECL std::optional<int> owner_of(pid_t pid) const;
  ELASTIC_DECL void announce_stop(const stop_plan& plan);

  ELASTIC_DECL task<void> start_process(std::size_t slot, process_set::process process,
                                        int restart_count);

  // Starts the workers concurrently: each start waits for the first message of its guard, and the
  // guards run on other processors.
  ELASTIC_DECL task<void> start_some(std::vector<worker_identity> identities,
                                     std::vector<std::size_t> slots, const job_context& job);
  ELASTIC_DECL task<void> start_worker(worker_identity identity, const job_context& job,
                                       logs_specs::worker_output output);
  ELASTIC_DECL void note(const process_set::process_end& end);
  // Resets the state of a replica that has ended, as if it had never run.
  ELASTIC_DECL void forget(std::size_t slot);
  ELASTIC_DECL job_context context_of(const rendezvous_round& round, std::string run_id,
                                      int restart_count) const;

  /// Finds out the cause of an end. This takes time, so it happens after the other workers were
  /// asked to end.
  ELASTIC_DECL void find_cause(const process_set::process_end& end);
  ELASTIC_DECL void update_state();
  ELASTIC_DECL void report_start();
  ELASTIC_DECL void notify_roles();
  ELASTIC_DECL void record_early_events();
  ELASTIC_DECL void begin_stop_on_failure();
  ELASTIC_DECL void look_into_abort(const process_set::process_end& end);
  ELASTIC_DECL task<std::string> look();
  ELASTIC_DECL run_result::failure describe(const worker& failed, const std::string& host) const;

  // Raises the number of descriptors that are available, before workers are started. None may run.
  ELASTIC_DECL task<void> make_room();
  ELASTIC_DECL task<void> start_each(rendezvous_round round, assigned_ranks ranks,
                                     std::string run_id, std::vector<int> restart_counts);
  ELASTIC_DECL detail::worker_leftovers::source source_of(const worker& failed) const;
  ELASTIC_DECL task<void> read_leftovers();

  /// The state of one attempt; each has a new one.
  struct attempt;
  ELASTIC_DECL void open_attempt(attempt next);
  ELASTIC_DECL attempt new_attempt(const rendezvous_round& round, const assigned_ranks& ranks,
                                   int restart_count) const;
  // Whether the workers were asked to end. Workers killed at the fence (by SIGKILL) count as lost,
  // like any other.
  bool is_asked_to_end() const { return attempt_.stop_signal.value_or(SIGKILL) != SIGKILL; }
  // Moves the workers that outlive their epoch from the last attempt to `next`. Result: the slots
  // of the others.
  ELASTIC_DECL std::vector<std::size_t> begin_with_survivors(attempt next);
  ELASTIC_DECL detail::survivors_options survivor_options(const agent_services& services);
  ELASTIC_DECL void notify_survivors(const std::vector<worker_identity>& identities,
                                     const job_context& job);

  struct attempt {
    int base_rank = 0;
    std::int64_t round = 0;
    int restart_count = 0;
    wall_time started;
    /// The count when the workers were started.
    std::optional<std::uint64_t> oom_kills;
    std::vector<worker> workers;
    detail::worker_calls calls;
    /// The local ranks of the workers that ended, in the order of their ends.
    std::vector<std::size_t> ended;
    worker_state state = worker_state::init;
    std::size_t succeeded = 0;
    bool has_failure = false;
    bool is_stop_announced = false;
    /// A worker has aborted, and an inspection that finds out what the others wait for is in
    /// progress.
    bool is_looked_into = false;
    /// What the workers waited for before one was killed; empty: unknown.
    std::string stall;
    worker_reports reports;
    /// By local rank: the last reported step, and the time of its first report.
    struct reported_step {
      std::int64_t number = -1;
      time_point time{};
      /// The step at the last sample.
      std::int64_t looked = -1;
      /// When the worker last sent anything.
      time_point heard{};
    };
    std::vector<reported_step> steps;
    /// By local rank.
    std::vector<detail::worker_files::output> files;
    detail::worker_watch watch;
    /// How many suspicions were reported, and which workers are suspected: the end of a suspicion
    /// is reported, too.
    int suspicions = 0;
    std::set<std::size_t> suspected;
    /// The reason why workers were asked to end although they can rejoin.
    std::string obstacle;
    /// The signal by which the workers were asked to end.
    std::optional<int> stop_signal;
    /// The local ranks of hung workers that hooks inspect, and the signals that end them
    /// afterwards.
    std::vector<std::pair<std::size_t, int>> pending_kills;

    ELASTIC_DECL detail::attempt_tally tally() const;
  };

  worker_spec spec_;
  detail::descriptor_need descriptors_;
  log_layout& layout_;
  detail::worker_files files_;
  detail::worker_leftovers leftovers_;
  logger log_;
  /// Null: nothing is reported.
  std::shared_ptr<job_journal> journal_;
  /// Null: output is not offered to viewers.
  std::shared_ptr<detail::output_tails> tails_;
  /// Null: the job has no other roles.
  std::shared_ptr<detail::role_link> roles_;
  std::optional<stop_plan> on_failure_;
  std::shared_ptr<detail::agent_parts> parts_;
  std::function<void()> on_start_;
  /// Empty: the workers are not replicas.
  std::function<void(std::size_t)> on_replica_end_;
  bool has_run_ = false;
  event_flag outcome_known_;
  std::shared_ptr<time_source> time_;
  worker_channels channels_;
  detail::process_builder builder_;
  detail::survivors survivors_;
  attempt attempt_;
  detail::hang_hooks hooks_;
  // The last member, since its callbacks use the others.
  process_set processes_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/worker_group.ipp>
#endif
