// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/logs_specs.hpp>
#include <elastic/agent/rank_assignment.hpp>
#include <elastic/agent/worker_failure.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/assert.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/contract/macros.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/process_set.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// One worker of this node, in the attempt that was started last.
struct worker {
  worker_identity identity;
  pid_t pid = 0;
  std::string error_file;
  /// How it ended; none while it runs.
  std::optional<process_end> end;
  /// It ended after `worker_group::stop` had told it to.
  bool stopped_by_agent = false;
};

/// Who the workers of this node are in a round, by local rank.
inline std::vector<worker_identity> identities(const worker_spec& spec,
                                               const rendezvous_round& round,
                                               const assigned_ranks& ranks) {
  std::vector<worker_identity> all;
  for (int local_rank = 0; local_rank < spec.local_world_size; ++local_rank) {
    worker_identity who;
    who.local_rank = local_rank;
    who.rank = ranks.base_rank + local_rank;
    who.group_rank = round.group_rank;
    who.role_rank = ranks.base_role_rank + local_rank;
    who.local_world_size = spec.local_world_size;
    who.world_size = ranks.world_size;
    who.group_world_size = round.group_world_size;
    who.role_world_size = ranks.role_world_size;
    who.role_name = spec.role;
    all.push_back(std::move(who));
  }
  return all;
}

/// What the workers of this node have in common in a round.
inline worker_surroundings surroundings(const worker_spec& spec, const rendezvous_round& round,
                                        std::string run_id, int restart_count) {
  worker_surroundings job;
  job.master_addr = round.master.address;
  job.master_port = round.master.port;
  job.use_agent_store = round.master.served_by_agent;
  job.run_id = std::move(run_id);
  job.restart_count = restart_count;
  job.max_restarts = spec.max_restarts;
  return job;
}

namespace detail {

/// Whether an end that came after the stop is the stop's doing. A crash of its own that fell into
/// the same moment is not.
inline bool is_due_to_stop(const exit_status& status, int stop_signal) {
  const std::optional<int> signal = status.signal();
  return !signal || *signal == stop_signal || *signal == SIGKILL || *signal == SIGTERM;
}

}  // namespace detail

/// The workers of this node: started together, watched together, stopped together.
///
/// The steps of the agent, each by itself: compose your own agent from them.
/// Thread-safety: one strand at a time, that of the executor it was given.
class worker_group {
 public:
  /// `layout` must outlive the group. The services must be set, but for telemetry.
  worker_group(asio::any_io_executor strand, worker_spec spec, const agent_services& services,
               log_layout& layout)
      : spec_(std::move(spec)),
        layout_(layout),
        logs_(services.logs ? services.logs : std::make_shared<default_logs_specs>()),
        log_(services.log),
        outcome_known_(strand),
        processes_(strand, process_services(services)) {}

  worker_group(const worker_group&) = delete;
  worker_group& operator=(const worker_group&) = delete;

  /// From now on the first worker that fails has the others asked to end in the same moment, before
  /// anybody who waits for the outcome hears of it. `stop` with the same plan then goes on.
  void stop_on_failure(stop_plan plan) { on_failure_ = plan; }

  /// Starts every worker for a round. The group must have no worker that runs.
  ///
  /// Result: all run. Errors: those of the launcher and `errc::file_access`; then none runs.
  /// Cancellation: all types; none runs then.
  task<void> start(rendezvous_round round, assigned_ranks ranks, std::string run_id,
                   int restart_count) {
    ELASTIC_ASSERT(processes_.running() == 0);
    layout_.start_attempt(restart_count, spec_.local_world_size);
    const worker_surroundings job =
        surroundings(spec_, round, std::move(run_id), restart_count);
    workers_.clear();
    ended_.clear();
    succeeded_ = 0;
    has_failed_ = false;
    stop_signal_.reset();
    outcome_known_.reset();
    state_ = worker_state::init;
    stop_plan at_once;
    at_once.signal = SIGKILL;
    co_await with_rollback(start_all(identities(spec_, round, ranks), job), stop(at_once));
    state_ = worker_state::healthy;
    judge();
  }

  /// Waits until the group's fate is known: all workers ended with success, one failed, or all
  /// ended since `stop` or `kill` told them to. `state()` then says which. The others of a failed
  /// group still run (see `stop_on_failure`).
  ///
  /// Cancellation: all types, no effect; may be awaited again.
  task<void> wait_for_outcome() {
    if (state_ == worker_state::healthy) co_await outcome_known_.wait();
  }

  /// Stops what runs: the plan's signal to all, its grace, SIGKILL. When this returns nothing of
  /// the workers' trees that can be found is left, and all their output is where it belongs.
  ///
  /// Cancellation: all types; throws with the stop half done: call it again, with the same plan or
  /// another. `kill` makes it end at once.
  task<void> stop(stop_plan plan) {
    stop_signal_ = plan.signal;
    co_await processes_.stop(plan);
  }

  /// Passes a signal on to every worker that runs.
  void signal(int number) { processes_.signal(number); }

  /// Kills every worker that runs; a stop under way ends at once. Where none is, call it next.
  void kill() {
    if (!stop_signal_) stop_signal_ = SIGKILL;
    processes_.kill();
  }

  worker_state state() const { return state_; }

  /// How many workers run.
  std::size_t running() const { return processes_.running(); }

  /// The workers of the last attempt, by local rank.
  const std::vector<worker>& workers() const { return workers_; }

  /// The worker that ended first without success, as far as anybody knows by now; null: none.
  const worker* first_failed() const {
    for (const std::size_t index : ended_) {
      if (!workers_[index].end->status.success()) return &workers_[index];
    }
    return nullptr;
  }

  /// The workers that did not end with success, in the order of their ends. To be asked after
  /// `stop`: what they wrote is known only then.
  std::vector<worker_failure> failures(const std::string& host) const {
    std::vector<worker_failure> described;
    for (const std::size_t index : ended_) {
      const worker& one = workers_[index];
      if (!one.end->status.success()) described.push_back(describe(one, host));
    }
    return described;
  }

 private:
  process_set_services process_services(const agent_services& services) {
    process_set_services parts;
    parts.launcher = services.launcher;
    parts.time = services.time;
    parts.log = services.log;
    parts.console_out = services.console_out;
    parts.console_err = services.console_err;
    parts.on_end = [this](const process_end& end) {
      note(end);
      judge();
    };
    return parts;
  }

  // At once: each waits for the first word of its guard, and these come from other processors.
  task<void> start_all(std::vector<worker_identity> all, const worker_surroundings& job) {
    workers_.resize(all.size());
    std::vector<worker_output> outputs = logs_->plan({spec_, all, layout_, host_name()});
    if (outputs.size() != all.size()) {
      throw error(errc::invalid_argument,
                  fmt::format("the logs specs plan the output of {} workers, and there are {}",
                              outputs.size(), all.size()));
    }
    std::vector<task<void>> starts;
    for (std::size_t i = 0; i < all.size(); ++i) {
      starts.push_back(start_worker(std::move(all[i]), job, std::move(outputs[i])));
    }
    return when_all(std::move(starts));
  }

  task<void> start_worker(worker_identity who, const worker_surroundings& job,
                          worker_output output) {
    const auto slot = static_cast<std::size_t>(who.local_rank);
    const std::string error_file = layout_.error_file(who.local_rank);
    supervised_process what;
    what.process.program = spec_.program;
    for (const std::string& argument : spec_.arguments) {
      what.process.arguments.push_back(substitute_local_rank(argument, who.local_rank));
    }
    what.process.environment = worker_environment(spec_.environment, who, job, error_file);
    what.process.directory = spec_.directory;
    what.out = std::move(output.out);
    what.err = std::move(output.err);
    workers_.at(slot).error_file = error_file;
    workers_.at(slot).identity = std::move(who);
    co_await processes_.start(slot, what);
    workers_.at(slot).pid = processes_.pid(slot);
  }

  void note(const process_end& end) {
    worker& one = workers_.at(end.index);
    one.end = end;
    ended_.push_back(end.index);
    one.stopped_by_agent =
        end.was_stopped && stop_signal_ && detail::is_due_to_stop(end.status, *stop_signal_);
    if (end.status.success()) {
      ++succeeded_;
    } else if (!end.was_stopped) {
      has_failed_ = true;
    }
  }

  void judge() {
    if (state_ != worker_state::healthy) return;
    if (succeeded_ == workers_.size()) {
      state_ = worker_state::succeeded;
    } else if (has_failed_) {
      state_ = worker_state::failed;
    } else if (stop_signal_ && ended_.size() == workers_.size()) {
      state_ = worker_state::stopped;
    } else {
      return;
    }
    if (state_ == worker_state::failed && on_failure_) {
      stop_signal_ = on_failure_->signal;
      processes_.begin_stop(*on_failure_);
    }
    outcome_known_.set();
  }

  worker_failure describe(const worker& one, const std::string& host) const {
    const auto slot = static_cast<std::size_t>(one.identity.local_rank);
    worker_failure failure;
    failure.rank = one.identity.rank;
    failure.local_rank = one.identity.local_rank;
    failure.group_rank = one.identity.group_rank;
    failure.role = spec_.role;
    failure.host = host;
    failure.pid = one.pid;
    failure.status = one.end->status;
    failure.at = one.end->wall;
    failure.error_file = one.error_file;
    failure.error = read_error_file(one.error_file);
    failure.last_stderr = processes_.tail(slot);
    failure.stopped_by_agent = one.stopped_by_agent;
    return failure;
  }

  worker_spec spec_;
  log_layout& layout_;
  std::shared_ptr<logs_specs> logs_;
  logger log_;
  std::optional<stop_plan> on_failure_;
  event_flag outcome_known_;
  std::vector<worker> workers_;
  /// Their places, in the order of their ends.
  std::vector<std::size_t> ended_;
  std::size_t succeeded_ = 0;
  bool has_failed_ = false;
  std::optional<int> stop_signal_;
  worker_state state_ = worker_state::init;
  // The last, since it tells the others of ends.
  process_set processes_;
};

}  // namespace elastic
