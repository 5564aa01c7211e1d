// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_group.hpp>

#include <elastic/agent/detail/workers/program_environment.hpp>
#include <elastic/agent/detail/workers/uninterruptible_watch.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/process/detail/file_tail.hpp>
#include <elastic/process/detail/oom_kills.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/detail/tree_usage.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <numeric>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::vector<worker_identity> worker_identities(const worker_spec& spec,
                                                            const rendezvous_round& round,
                                                            const assigned_ranks& ranks) {
  std::vector<worker_identity> identities;
  for (int local_rank = 0; local_rank < spec.nproc_per_node; ++local_rank) {
    worker_identity identity;
    identity.local_rank = local_rank;
    identity.rank = ranks.base_rank + local_rank;
    identity.group_rank = round.group_rank;
    identity.role_rank = ranks.base_role_rank + local_rank;
    identity.local_world_size = spec.nproc_per_node;
    identity.world_size = ranks.world_size;
    identity.group_world_size = round.group_world_size;
    identity.role_world_size = ranks.role_world_size;
    identity.role_name = spec.role;
    identities.push_back(std::move(identity));
  }
  return identities;
}

ELASTIC_DECL job_context make_job_context(const worker_spec& spec, const rendezvous_round& round,
                                          std::string run_id, int restart_count) {
  job_context job;
  job.master_addr = round.master.address;
  job.master_port = round.master.port;
  job.use_agent_store = round.master.served_by_agent;
  job.run_id = std::move(run_id);
  job.restart_count = restart_count;
  job.max_restarts = spec.max_restarts;
  job.old_nccl_name = round.dialect == rendezvous_round::agent_dialect::gather;
  if (spec.on_failure == failure_policy::replace) job.epoch = round.round;
  return job;
}

namespace detail {

ELASTIC_DECL bool is_due_to_stop(const exit_status& status, int stop_signal) {
  const std::optional<int> signal = status.signal();
  return !signal || *signal == stop_signal || *signal == SIGKILL || *signal == SIGTERM;
}

/// How many descriptors the workers of an agent need.
inline std::size_t descriptors_of(const worker_spec& spec) {
  return static_cast<std::size_t>(std::max(spec.nproc_per_node, 0)) * limits::worker_descriptors;
}

}  // namespace detail

ELASTIC_DECL worker_group::worker_group(asio::any_io_executor strand, worker_spec spec,
                                        const agent_services& services, log_layout& layout)
    : worker_group(completed(), strand, std::move(spec), complete_services(services, strand),
                   layout) {}

ELASTIC_DECL worker_group::worker_group(completed, asio::any_io_executor strand, worker_spec spec,
                                        const agent_services& services, log_layout& layout)
    : spec_(std::move(spec)),
      descriptors_(detail::descriptors_of(spec_)),
      layout_(layout),
      files_(spec_, layout_, services.logs, services.log),
      leftovers_(layout_, spec_.directory, services.time, services.log),
      log_(services.log),
      journal_(services.journal),
      tails_(detail::internals::of(services).tails),
      roles_(detail::internals::of(services).roles),
      parts_(detail::new_shared<detail::agent_parts>(services.log)),
      outcome_known_(strand),
      time_(services.time),
      channels_(strand, channel_options(services)),
      builder_(spec_, channels_, roles_, parts_),
      survivors_(strand, channels_, survivor_options(services)),
      hooks_(strand, spec_.hang_hook, hook_services(services)),
      processes_(strand, process_services(services)) {
  if (tails_) {
    tails_->open(
        strand, [this](std::int64_t rank) { return output_of(rank); },
        [this] { return output_sources(); });
  }
  if (roles_) {
    roles_->open(strand, [this](std::int64_t revision) { channels_.tell_of_roles(revision); });
  }
}

ELASTIC_DECL worker_group::~worker_group() {
  if (tails_) tails_->close();
  if (roles_) roles_->close();
}

ELASTIC_DECL task<void> worker_group::make_room() {
  if (processes_.running() + processes_.starting() > 0) {
    throw error(errc::invalid_argument,
                fmt::format("worker_group::start: {} workers run and {} are being started; stop "
                            "them first",
                            processes_.running(), processes_.starting()));
  }
  // A low limit of open files does not prevent the start: the workers make do with what is left.
  const std::size_t most_needed = detail::descriptor_limit() / 2;
  const std::size_t needed = std::min(detail::descriptors_of(spec_), most_needed);
  co_await detail::make_room_for_descriptors(time_, needed);
}

ELASTIC_DECL void worker_group::open_attempt(attempt next) {
  attempt_ = std::move(next);
  leftovers_.clear();
  outcome_known_.reset();
  if (spec_.contract == worker_contract::torch) channels_.open(spec_.nproc_per_node);
  survivors_.begin(attempt_.round, attempt_.workers.size(), false);
  if (tails_) tails_->locate(layout_.root());
}

ELASTIC_DECL task<void> worker_group::start(rendezvous_round round, assigned_ranks ranks,
                                            std::string run_id, int restart_count) & {
  co_await make_room();
  co_await files_.start_attempt(restart_count);
  const job_context job = context_of(round, std::move(run_id), restart_count);
  open_attempt(new_attempt(round, ranks, restart_count));
  std::vector<std::size_t> slots(attempt_.workers.size());
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  stop_plan at_once;
  at_once.signal = SIGKILL;
  co_await with_rollback(start_some(worker_identities(spec_, round, ranks), std::move(slots), job),
                         stop(at_once));
  attempt_.state = worker_state::healthy;
  report_start();
  update_state();
}

ELASTIC_DECL auto worker_group::new_attempt(const rendezvous_round& round,
                                            const assigned_ranks& ranks, int restart_count) const
    -> attempt {
  const auto workers = static_cast<std::size_t>(spec_.nproc_per_node);
  attempt next;
  next.base_rank = ranks.base_rank;
  next.round = round.round;
  next.restart_count = restart_count;
  next.started = time_->wall_now();
  next.oom_kills = detail::count_oom_kills();
  next.watch = detail::worker_watch(spec_.watch_interval);
  next.workers.resize(workers);
  if (spec_.function) next.calls = detail::worker_calls(workers);
  next.steps.resize(workers);
  next.files.resize(workers);
  return next;
}

/// Some workers may have become hung or ended while others were being started.
ELASTIC_DECL void worker_group::report_start() {
  has_run_ = true;
  files_.become_optional();
  notify_roles();
  if (on_start_) on_start_();
  record_early_events();
}

/// Records the workers that became hung or ended during the start. From now on, the journal learns
/// of these events at once.
ELASTIC_DECL void worker_group::record_early_events() {
  for (const worker& each : attempt_.workers) {
    if (!each.is_start_reported && !each.hung.empty()) record_hung(each);
  }
  for (const std::size_t slot : attempt_.ended) {
    if (!attempt_.workers[slot].is_start_reported) record_end(attempt_.workers[slot]);
  }
  for (worker& each : attempt_.workers) each.is_start_reported = true;
}

ELASTIC_DECL void worker_group::notify_roles() {
  if (!roles_) return;
  std::vector<pid_t> pids;
  for (const worker& each : attempt_.workers) pids.push_back(each.pid);
  roles_->started(attempt_.round, std::move(pids));
  for (const std::size_t slot : attempt_.ended) roles_->ended(slot);
}

ELASTIC_DECL job_context worker_group::context_of(const rendezvous_round& round, std::string run_id,
                                                  int restart_count) const {
  job_context job = make_job_context(spec_, round, std::move(run_id), restart_count);
  job.has_world = !on_replica_end_;
  return job;
}

// ---- replicas -----------------------------------------------------------------------------------

ELASTIC_DECL task<void> worker_group::restart(std::size_t local_rank, std::string run_id,
                                              int restart_count) & {
  if (local_rank >= attempt_.workers.size() || !attempt_.workers[local_rank].end) {
    throw error(errc::invalid_argument,
                fmt::format("worker_group::restart: worker {} has not ended", local_rank));
  }
  co_await processes_.clear(local_rank);
  forget(local_rank);
  std::vector<std::size_t> slots{local_rank};
  co_await files_.add_workers(restart_count, slots, attempt_.round);
  const job_context job = context_of(rendezvous_round(), std::move(run_id), restart_count);
  std::vector<worker_identity> identities;
  for (const worker& each : attempt_.workers) identities.push_back(each.identity);
  co_await start_some(std::move(identities), std::move(slots), job);
  report_start();
}

ELASTIC_DECL task<void> worker_group::start_replicas(rendezvous_round round, assigned_ranks ranks,
                                                     std::string run_id,
                                                     named<std::vector<int>> restart_counts) & {
  std::vector<int> counts = restart_counts;
  co_await make_room();
  open_attempt(new_attempt(round, ranks, 0));
  stop_plan at_once;
  at_once.signal = SIGKILL;
  co_await with_rollback(start_each(round, ranks, std::move(run_id), std::move(counts)),
                         stop(at_once));
  attempt_.state = worker_state::healthy;
  report_start();
  update_state();
}

ELASTIC_DECL task<void> worker_group::start_each(rendezvous_round round, assigned_ranks ranks,
                                                 std::string run_id,
                                                 std::vector<int> restart_counts) {
  for (std::size_t slot = 0; slot < restart_counts.size(); ++slot) {
    std::vector<std::size_t> slots{slot};
    co_await files_.add_workers(restart_counts[slot], slots, attempt_.round);
    const job_context job = context_of(round, run_id, restart_counts[slot]);
    co_await start_some(worker_identities(spec_, round, ranks), std::move(slots), job);
  }
}

ELASTIC_DECL void worker_group::forget(std::size_t slot) {
  worker fresh;
  fresh.identity = attempt_.workers[slot].identity;
  attempt_.workers[slot] = std::move(fresh);
  attempt_.steps[slot] = {};
  attempt_.files[slot] = {};
  leftovers_.forget(slot);
  attempt_.suspected.erase(slot);
  std::erase(attempt_.ended, slot);
  attempt_.oom_kills = detail::count_oom_kills();
}

// ---- epochs -------------------------------------------------------------------------------------

ELASTIC_DECL task<std::string> worker_group::leave_epoch(bool is_pause, duration most) & {
  co_await finish_hooks(std::min(most, spec_.rejoin_timeout));
  if (is_asked_to_end()) co_return epoch_obstacle();
  const std::string obstacle = co_await survivors_.leave(is_pause, most);
  if (!obstacle.empty()) co_return obstacle;
  // The workers that are killed now had not come far enough to stay.
  attempt_.stop_signal = SIGKILL;
  for (std::size_t slot = 0; slot < attempt_.workers.size(); ++slot) {
    if (!survivors_.is_ready(slot)) co_await processes_.clear(slot);
  }
  co_await read_leftovers();
  co_return std::string();
}

ELASTIC_DECL std::string worker_group::epoch_obstacle() const {
  if (!is_asked_to_end()) return survivors_.obstacle();
  return attempt_.obstacle.empty() ? "the workers were told to end" : attempt_.obstacle;
}

ELASTIC_DECL auto worker_group::begin_with_survivors(attempt next) -> std::vector<std::size_t> {
  std::vector<std::size_t> others;
  for (std::size_t slot = 0; slot < next.workers.size(); ++slot) {
    if (!survivors_.is_ready(slot)) {
      others.push_back(slot);
      continue;
    }
    next.workers[slot] = std::move(attempt_.workers.at(slot));
    next.workers[slot].is_start_reported = false;
    next.steps[slot] = attempt_.steps.at(slot);
    next.files[slot] = std::move(attempt_.files.at(slot));
    next.calls.keep(slot, attempt_.calls);
  }
  attempt_ = std::move(next);
  leftovers_.clear();
  return others;
}

ELASTIC_DECL task<void> worker_group::rejoin(rendezvous_round round, assigned_ranks ranks,
                                             std::string run_id, int restart_count) & {
  const job_context job = make_job_context(spec_, round, std::move(run_id), restart_count);
  const std::vector<worker_identity> identities = worker_identities(spec_, round, ranks);
  std::vector<std::size_t> others = begin_with_survivors(new_attempt(round, ranks, restart_count));
  outcome_known_.reset();
  if (!channels_.is_open()) channels_.open(spec_.nproc_per_node);
  survivors_.begin(round.round, attempt_.workers.size(), true);
  notify_survivors(identities, job);
  for (const std::size_t slot : others) co_await processes_.clear(slot);
  co_await files_.add_workers(restart_count, others, attempt_.round);
  stop_plan at_once;
  at_once.signal = SIGKILL;
  co_await with_rollback(start_some(identities, std::move(others), job), stop(at_once));
  attempt_.state = worker_state::healthy;
  report_start();
  update_state();
}

ELASTIC_DECL void worker_group::notify_survivors(const std::vector<worker_identity>& identities,
                                                 const job_context& job) {
  for (std::size_t slot = 0; slot < identities.size(); ++slot) {
    if (!survivors_.is_ready(slot)) continue;
    control_messages::rejoin message;
    message.epoch = attempt_.round;
    message.environment = builder_.changed_variables(identities[slot], job);
    std::string problem = "it has lost its control channel";
    attempt_.workers[slot].identity = identities[slot];
    attempt_.workers[slot].has_stayed = true;
    attempt_.workers[slot].restart_count = attempt_.restart_count;
    try {
      if (survivors_.rejoin(slot, identities[slot].rank, message)) continue;
    } catch (const error& failure) {
      problem = failure.what();
    }
    // The death of the worker then ends this epoch.
    log_.error("rank {} cannot be sent epoch {} and is killed: {}", identities[slot].rank,
               attempt_.round, problem);
    processes_.signal(slot, SIGKILL);
  }
}

ELASTIC_DECL task<void> worker_group::answer_questions() & {
  if (!survivors_.is_on()) {
    co_await wait_for_outcome();
    co_return;
  }
  co_await survivors_.answer();
}

ELASTIC_DECL task<void> worker_group::wait_for_outcome() & {
  if (attempt_.state == worker_state::healthy) co_await outcome_known_.wait();
}

ELASTIC_DECL task<void> worker_group::watch_uninterruptible() & {
  const duration limit = detail::uninterruptible_limit(spec_.environment);
  if (limit == duration::zero()) {
    co_await wait_for_outcome();
    co_return;
  }
  detail::uninterruptible_watch watch(limit);
  for (;;) {
    co_await time_->sleep_until(deadline_after(time_->now(), watch.period()));
    for (std::size_t slot = 0; slot < attempt_.workers.size(); ++slot) {
      const worker_group::worker& entry = attempt_.workers[slot];
      if (entry.end || !entry.hung.empty()) continue;
      const auto process = detail::read_process(entry.pid);
      const auto slept = watch.look(slot, process ? process->state : '?', time_->now());
      if (slept) end_stuck(slot, *slept);
    }
  }
}

ELASTIC_DECL task<void> worker_group::watch_work() & {
  const duration period = spec_.watch_interval;
  if (period == duration::zero()) {
    co_await wait_for_outcome();
    co_return;
  }
  for (duration pause = period;;) {
    co_await time_->sleep_until(deadline_after(time_->now(), pause));
    const time_point began = time_->now();
    const sights seen = co_await look_at_workers();
    for (const detail::suspicion_change& change : attempt_.watch.look(seen, began)) {
      record_suspicion(change);
    }
    // Limits the time spent on sampling to one percent, however many processes there are.
    constexpr int part = 100;
    pause = std::max(period, part * (time_->now() - began));
  }
}

ELASTIC_DECL auto worker_group::look_at_workers() -> task<sights> {
  auto executor = co_await asio::this_coro::executor;
  sights seen(attempt_.workers.size());
  for (std::size_t slot = 0; slot < attempt_.workers.size(); ++slot) {
    seen[slot] = look_at_worker(slot);
    // Lets other work on the strand run.
    constexpr std::size_t at_once = 32;
    if (slot % at_once == at_once - 1) co_await asio::post(executor, asio::use_awaitable);
  }
  co_return seen;
}

ELASTIC_DECL std::optional<detail::worker_sample> worker_group::look_at_worker(std::size_t slot) {
  const worker_group::worker& entry = attempt_.workers[slot];
  if (entry.end || entry.pid == 0) return std::nullopt;
  detail::worker_sample sight;
  auto& last = attempt_.steps[slot];
  sight.step = last.number;
  sight.step_at = last.time;
  // A worker whose step advanced is not inspected further.
  if (std::exchange(last.looked, last.number) != last.number) return sight;
  sight.written = written_by(slot);
  const std::size_t most_files = limits::watched_files / attempt_.workers.size();
  const auto usage = detail::look_at_tree(entry.pid, std::max<std::size_t>(most_files, 1));
  if (!usage) return sight;
  if (!usage->is_cut) sight.processor_time = usage->processor_time;
  sight.processes = usage->processes;
  sight.stopped = usage->stopped;
  sight.blocked = usage->blocked;
  return sight;
}

ELASTIC_DECL std::uint64_t worker_group::written_by(std::size_t slot) const {
  std::uint64_t written = processes_.copied(slot);
  if (layout_.may_hang()) return written;
  for (const std::string* path : {&attempt_.files[slot].out, &attempt_.files[slot].err}) {
    std::error_code failure;
    const std::uintmax_t size = path->empty() ? 0 : std::filesystem::file_size(*path, failure);
    if (!failure) written += size;
  }
  return written;
}

ELASTIC_DECL std::vector<std::string> worker_group::last_stderr(int local_rank) const {
  if (layout_.may_hang()) return {};
  return processes_.tail(static_cast<std::size_t>(local_rank));
}

ELASTIC_DECL std::optional<detail::output_reader> worker_group::output_of(std::int64_t rank) const {
  const std::int64_t slot = rank - attempt_.base_rank;
  if (slot < 0 || slot >= static_cast<std::int64_t>(attempt_.files.size())) return std::nullopt;
  const auto place = static_cast<std::size_t>(slot);
  const auto of_file = [](std::string stream, const std::string& path) {
    return detail::output_tail{std::move(stream), path, detail::read_file_tail(path)};
  };
  detail::output_reader reader;
  reader.may_hang = layout_.may_hang();
  reader.read = [files = attempt_.files[place], of_file,
                 lines = processes_.tail_reader(place)]() -> std::vector<detail::output_tail> {
    std::vector<detail::output_tail> tails;
    if (!files.err.empty()) {
      tails.push_back(of_file("stderr", files.err));
    } else {
      tails.push_back({"stderr", "", lines()});
    }
    if (!files.out.empty()) tails.push_back(of_file("stdout", files.out));
    return tails;
  };
  return reader;
}

ELASTIC_DECL detail::output_sources worker_group::output_sources() const {
  detail::output_sources sources;
  sources.may_hang = layout_.may_hang();
  for (std::size_t slot = 0; slot < attempt_.files.size(); ++slot) {
    const detail::worker_files::output& files = attempt_.files[slot];
    for (const bool is_err : {false, true}) {
      detail::output_source& source = sources.streams.emplace_back();
      source.rank = attempt_.base_rank + static_cast<std::int64_t>(slot);
      source.is_err = is_err;
      source.pid = processes_.pid(slot);
      source.path = is_err ? files.err : files.out;
      if (!source.path.empty()) continue;
      source.is_kept = is_err;
      if (!is_err) continue;
      const detail::line_tail kept = detail::internals::kept(processes_, slot);
      source.kept = kept.text();
      source.end = kept.end();
    }
  }
  return sources;
}

ELASTIC_DECL void worker_group::record_suspicion(const detail::suspicion_change& change) {
  const bool is_none = change.suspicion == job_event::suspicion::none;
  if (is_none ? attempt_.suspected.erase(change.local_rank) == 0
              : ++attempt_.suspicions > limits::worker_suspicions) {
    return;
  }
  if (!is_none) attempt_.suspected.insert(change.local_rank);
  const worker_group::worker& entry = attempt_.workers[change.local_rank];
  const std::string finding =
      is_none ? "is no longer suspected" : fmt::format("seems {}", to_string(change.suspicion));
  const bool is_last = !is_none && attempt_.suspicions == limits::worker_suspicions;
  log_.warning("{} rank {} (local rank {}, pid {}) {}: {}{}", entry.identity.role_name,
               entry.identity.rank, change.local_rank, entry.pid, finding, change.reason,
               is_last ? "; no further suspicion is logged in this attempt" : "");
  record_event(job_event::type::worker_suspected, entry, change.reason, change.suspicion);
}

ELASTIC_DECL task<void> worker_group::stop(stop_plan plan) & {
  attempt_.stop_signal = plan.signal;
  record_early_events();
  hooks_.stop_waiting();
  if (roles_) roles_->stopped();
  announce_stop(plan);
  co_await processes_.stop(plan);
  co_await channels_.close();
  co_await hooks_.wait_for_end();
  co_await read_leftovers();
}

ELASTIC_DECL void worker_group::kill() {
  if (!attempt_.stop_signal) attempt_.stop_signal = SIGKILL;
  hooks_.stop_waiting();
  processes_.kill();
}

ELASTIC_DECL bool worker_group::kill_inside() {
  std::vector<std::size_t> inside;
  for (std::size_t slot = 0; slot < attempt_.workers.size(); ++slot) {
    if (survivors_.is_inside(slot)) inside.push_back(slot);
  }
  if (inside.empty()) return false;
  if (inside.size() == attempt_.workers.size()) {
    kill();
    return true;
  }
  if (!attempt_.stop_signal) attempt_.stop_signal = SIGKILL;
  hooks_.stop_waiting();
  for (const std::size_t slot : inside) processes_.kill(slot);
  return true;
}

ELASTIC_DECL std::vector<const worker_group::worker*> worker_group::failed() const {
  std::vector<const worker_group::worker*> list;
  for (const std::size_t index : attempt_.ended) {
    if (!attempt_.workers[index].end->status.is_success()) list.push_back(&attempt_.workers[index]);
  }
  return list;
}

ELASTIC_DECL const worker_group::worker* worker_group::first_failed() const {
  for (const std::size_t index : attempt_.ended) {
    const worker_group::worker& ended = attempt_.workers[index];
    if (!ended.end->status.is_success()) return &ended;
  }
  return nullptr;
}

ELASTIC_DECL std::optional<run_result::failure> worker_group::first_failure() const {
  const worker_group::worker* const first = first_failed();
  if (!first || first->stopped_by_agent) return std::nullopt;
  return describe(*first, {});
}

ELASTIC_DECL std::vector<run_result::failure> worker_group::failures(
    const std::string& host) const {
  std::vector<run_result::failure> described;
  for (const worker_group::worker* const entry : failed()) {
    described.push_back(describe(*entry, host));
  }
  return described;
}

ELASTIC_DECL std::map<int, std::string> worker_group::return_values() const {
  std::map<int, std::string> values;
  if (!attempt_.calls.is_used()) return values;
  for (std::size_t slot = 0; slot < attempt_.workers.size(); ++slot) {
    const worker_group::worker& entry = attempt_.workers[slot];
    if (!entry.end || !entry.end->status.is_success()) continue;
    try {
      values.emplace(entry.identity.rank, attempt_.calls.value(slot));
    } catch (const error& problem) {
      log_.warning("rank {} ended with success, but there is no return value: {}",
                   entry.identity.rank, problem.what());
    }
  }
  return values;
}

ELASTIC_DECL process_set::services worker_group::process_services(const agent_services& services) {
  process_set::services parts;
  parts.launcher = services.launcher;
  parts.time = services.time;
  parts.log = services.log;
  parts.console_out = services.console_out;
  parts.console_err = services.console_err;
  parts.alarm_texts = {"Traceback (most recent call last)",
                       "The client socket has failed to connect"};
  parts.on_alarm = [this](std::size_t slot) { parts_->failing(static_cast<int>(slot)); };
  parts.on_end = [this](const process_set::process_end& end) {
    note(end);
    look_into_abort(end);
    update_state();
    find_cause(end);
    const worker& ended = attempt_.workers.at(end.index);
    if (ended.is_start_reported) record_end(ended);
    parts_->ended(attempt_worker_of(end.index));
    if (on_replica_end_) on_replica_end_(end.index);
  };
  return parts;
}

ELASTIC_DECL detail::hang_hooks_services worker_group::hook_services(
    const agent_services& services) {
  detail::hang_hooks_services parts;
  parts.launcher = services.hook_launcher;
  parts.time = services.time;
  parts.log = services.log;
  parts.console = services.console_err;
  parts.over = [this] { send_pending_kills(); };
  return parts;
}

ELASTIC_DECL worker_channels::options worker_group::channel_options(
    const agent_services& services) {
  worker_channels::options parts;
  parts.liveness = spec_.liveness;
  parts.time = services.time;
  parts.log = services.log;
  parts.timer_file = find_variable(spec_.environment, "TORCHELASTIC_ENABLE_FILE_TIMER") == "1";
  parts.timer_path =
      find_variable(spec_.environment, "TORCHELASTIC_TIMER_FILE").value_or(std::string());
  parts.message = [this](int local_rank, const worker_messages::worker_message& message) {
    take(local_rank, message);
  };
  parts.hung = [this](const worker_channels::hung_worker& found) { end_hung(found); };
  if (roles_) {
    parts.roles = [roles = roles_] { return roles->revision(); };
  }
  parts.owner_of = [this](pid_t pid) { return owner_of(pid); };
  return parts;
}

ELASTIC_DECL detail::survivors_options worker_group::survivor_options(
    const agent_services& services) {
  detail::survivors_options parts;
  parts.is_on = spec_.on_failure == failure_policy::replace;
  parts.timeout = spec_.rejoin_timeout;
  parts.time = services.time;
  parts.log = services.log;
  parts.kill = [this](std::size_t slot) { processes_.signal(slot, SIGKILL); };
  return parts;
}

ELASTIC_DECL std::string worker_group::statement_of(int local_rank, const char* statement,
                                                    const std::string& reason) const {
  return fmt::format("rank {} {}{}{}", attempt_.base_rank + local_rank, statement,
                     reason.empty() ? "" : ": ", reason);
}

ELASTIC_DECL void worker_group::end_hung(const worker_channels::hung_worker& found) {
  const auto slot = static_cast<std::size_t>(found.local_rank);
  if (slot >= attempt_.workers.size() || attempt_.workers[slot].end) return;
  worker_group::worker& entry = attempt_.workers[slot];
  entry.hung = found.reason;
  const bool has_hook = !attempt_.stop_signal && hooks_.accepts();
  const bool waits = has_hook && !spec_.hang_hook.command.empty();
  log_.warning("{} rank {} (local rank {}, pid {}) is hung: {}; it gets {}{}",
               entry.identity.role_name, entry.identity.rank, found.local_rank, entry.pid,
               entry.hung, signal_name(found.signal), waits ? " after the hang hook" : "");
  agent_part::hung_worker hung;
  hung.rank = entry.identity.rank;
  hung.local_rank = found.local_rank;
  hung.pid = entry.pid;
  hung.reason = entry.hung;
  parts_->hung(hung);
  if (entry.is_start_reported) record_hung(entry);
  if (has_hook) hooks_.begin(hook_for(std::move(hung)));
  if (hooks_.is_open()) {
    attempt_.pending_kills.emplace_back(slot, found.signal);
  } else {
    processes_.signal(slot, found.signal);
  }
}

/// Ends a stuck worker without a restart: a new worker would need what this one holds in the
/// kernel, such as a GPU or a file system.
ELASTIC_DECL void worker_group::end_stuck(std::size_t slot, duration slept) {
  worker_channels::hung_worker found;
  found.local_rank = static_cast<int>(slot);
  found.reason = fmt::format("in uninterruptible sleep for {:.1f} s",
                             std::chrono::duration<double>(slept).count());
  if (!attempt_.reports.no_restart) {
    attempt_.reports.no_restart = statement_of(found.local_rank, "is stuck", found.reason);
  }
  end_hung(found);
  attempt_.has_failure = true;
  update_state();
}

ELASTIC_DECL detail::hang_hook_call worker_group::hook_for(agent_part::hung_worker hung) const {
  detail::hang_hook_call call;
  call.environment = detail::program_environment(spec_.environment);
  call.directory = spec_.directory;
  call.log_directory = layout_.directory(hung.local_rank);
  if (layout_.keeps_files()) call.output_file = layout_.hang_file(hung.local_rank);
  call.worker = std::move(hung);
  return call;
}

ELASTIC_DECL void worker_group::send_pending_kills() {
  for (const auto& [slot, signal] : std::exchange(attempt_.pending_kills, {})) {
    processes_.signal(slot, signal);
  }
  if (std::exchange(attempt_.is_looked_into, false)) update_state();
  if (attempt_.state == worker_state::failed && !attempt_.stop_signal) begin_stop_on_failure();
}

ELASTIC_DECL void worker_group::end_hung(int local_rank, const std::string& reason) {
  worker_channels::hung_worker found;
  found.local_rank = local_rank;
  found.reason = reason;
  end_hung(found);
}

ELASTIC_DECL std::vector<agent_part::attempt_worker> worker_group::attempt_workers() const {
  std::vector<agent_part::attempt_worker> started;
  for (std::size_t slot = 0; slot < attempt_.workers.size(); ++slot) {
    if (attempt_.workers[slot].pid != 0) started.push_back(attempt_worker_of(slot));
  }
  return started;
}

ELASTIC_DECL agent_part::attempt_worker worker_group::attempt_worker_of(std::size_t slot) const {
  const worker_group::worker& entry = attempt_.workers[slot];
  const attempt::reported_step& step = attempt_.steps[slot];
  agent_part::attempt_worker seen;
  seen.rank = entry.identity.rank;
  seen.local_rank = entry.identity.local_rank;
  seen.pid = entry.pid;
  seen.step = step.number;
  seen.step_at = step.time;
  seen.heard_at = step.heard;
  seen.written = written_by(slot);
  seen.error_file = entry.error_file;
  if (!entry.end) return seen;
  seen.end = entry.end->status.text();
  seen.ended_at = entry.end->time;
  seen.has_succeeded = entry.end->status.is_success();
  return seen;
}

/// Looks at the other workers after one has aborted: PyTorch's watchdogs abort a worker that waits
/// too long, and the others may wait for the same thing.
ELASTIC_DECL void worker_group::look_into_abort(const process_set::process_end& end) {
  const bool has_aborted = end.status.signal() == SIGABRT && !end.was_stopped;
  const bool is_looked_at = has_aborted && parts_->wants_last_look();
  if (!is_looked_at || attempt_.stop_signal || !hooks_.accepts()) return;
  const worker_group::worker& entry = attempt_.workers.at(end.index);
  agent_part::hung_worker aborted;
  aborted.rank = entry.identity.rank;
  aborted.local_rank = entry.identity.local_rank;
  aborted.pid = entry.pid;
  detail::hang_hook_call call = hook_for(std::move(aborted));
  call.has_command = false;
  attempt_.is_looked_into = true;
  hooks_.begin(std::move(call));
}

ELASTIC_DECL void worker_group::attach(std::shared_ptr<agent_part> part) {
  parts_->add(detail::required(std::move(part), "worker_group::attach: the part"));
  attach(parts_);
}

ELASTIC_DECL void worker_group::attach(std::shared_ptr<detail::agent_parts> parts) {
  parts_ = std::move(parts);
  if (parts_->wants_last_look()) hooks_.look_first([this] { return this->look(); });
}

ELASTIC_DECL task<std::string> worker_group::look() {
  std::string found = co_await parts_->last_look();
  if (!found.empty()) attempt_.stall = found;
  co_return found;
}

ELASTIC_DECL void worker_group::take(int local_rank,
                                     const worker_messages::worker_message& message) {
  attempt_.steps.at(static_cast<std::size_t>(local_rank)).heard = time_->now();
  if (const auto* made = std::get_if<worker_messages::progress>(&message)) {
    take(local_rank, *made);
  } else if (const auto* wish = std::get_if<worker_messages::no_restart>(&message)) {
    take(local_rank, *wish);
  } else if (const auto* notice = std::get_if<worker_messages::bad_node>(&message)) {
    take(local_rank, *notice);
  } else if (std::holds_alternative<worker_messages::prepared>(message)) {
    parts_->prepared();
  } else {
    survivors_.take(local_rank, message);
  }
}

ELASTIC_DECL void worker_group::take(int local_rank, const worker_messages::no_restart& wish) {
  worker_reports& reports = attempt_.reports;
  reports.is_hopeless = true;
  if (reports.no_restart) return;
  reports.no_restart = statement_of(local_rank, "asked not to be started again", wish.reason);
  log_.warning("{}", *reports.no_restart);
}

ELASTIC_DECL void worker_group::take(int local_rank, const worker_messages::bad_node& notice) {
  worker_reports& reports = attempt_.reports;
  if (reports.bad_node) return;
  reports.bad_node = statement_of(local_rank, "says that this node is bad", notice.reason);
  log_.error("{}", *reports.bad_node);
  update_state();
}

ELASTIC_DECL void worker_group::take(int local_rank, const worker_messages::progress& progress) {
  auto& last = attempt_.steps.at(static_cast<std::size_t>(local_rank));
  std::optional<std::int64_t>& furthest = attempt_.reports.furthest_step;
  // A worker that outlived its round may repeat the step that it last reported there.
  const bool is_news = last.number != progress.step || progress.step > furthest.value_or(-1);
  if (last.number != progress.step) {
    last.number = progress.step;
    last.time = time_->now();
  }
  furthest = std::max(furthest.value_or(0), progress.step);
  worker_progress made;
  made.is_new = is_news;
  made.rank = attempt_.base_rank + local_rank;
  made.local_rank = local_rank;
  made.step = progress.step;
  made.total = progress.total;
  made.text = progress.text;
  made.metrics = progress.metrics;
  parts_->progressed(made);
}

ELASTIC_DECL std::optional<int> worker_group::owner_of(pid_t pid) const {
  constexpr int deepest = 64;
  for (int level = 0; level < deepest && pid > 1; ++level) {
    for (const worker_group::worker& candidate : attempt_.workers) {
      if (candidate.pid == pid && !candidate.end) return candidate.identity.local_rank;
    }
    const auto entry = detail::read_process(pid);
    if (!entry) break;
    pid = entry->parent;
  }
  return std::nullopt;
}

ELASTIC_DECL void worker_group::announce_stop(const stop_plan& plan) {
  if (plan.signal == SIGKILL || std::exchange(attempt_.is_stop_announced, true)) return;
  channels_.announce_stop(plan.grace);
}

ELASTIC_DECL task<void> worker_group::start_some(std::vector<worker_identity> identities,
                                                 std::vector<std::size_t> slots,
                                                 const job_context& job) {
  std::vector<logs_specs::worker_output> outputs =
      files_.plan(identities, job.restart_count, slots);
  std::vector<task<void>> starts;
  for (const std::size_t slot : slots) {
    starts.push_back(start_worker(std::move(identities[slot]), job, std::move(outputs[slot])));
  }
  co_await when_all(std::move(starts));
}

ELASTIC_DECL std::exception_ptr worker_group::error_of_run(std::exception_ptr failure) const {
  if (!has_run_) return failure;
  try {
    std::rethrow_exception(failure);
  } catch (const error& thrown) {
    for (const errc correctable :
         {errc::invalid_argument, errc::file_access, errc::address_in_use}) {
      if (thrown.code() != correctable) continue;
      return std::make_exception_ptr(error(errc::start_failed, thrown.what()));
    }
  } catch (...) {
  }
  return failure;
}

ELASTIC_DECL std::vector<process_spec> worker_group::expected_processes(std::string run_id) const {
  std::vector<process_spec> processes;
  if (spec_.function) return processes;
  const rendezvous_round unknown;
  const job_context job = make_job_context(spec_, unknown, std::move(run_id), 0);
  for (const worker_identity& identity : worker_identities(spec_, unknown, assigned_ranks())) {
    processes.push_back(builder_.make(identity, job, ""));
  }
  return processes;
}

ELASTIC_DECL task<void> worker_group::start_worker(worker_identity identity, const job_context& job,
                                                   logs_specs::worker_output output) {
  const auto slot = static_cast<std::size_t>(identity.local_rank);
  const std::string error_file = layout_.error_file(identity.local_rank);
  process_set::process process;
  process.process = builder_.make(identity, job, error_file);
  if (spec_.function) attempt_.calls.add(slot, *spec_.function, process.process);
  process.out = std::move(output.out);
  process.err = std::move(output.err);
  attempt_.workers.at(slot).error_file = error_file;
  attempt_.workers.at(slot).identity = identity;
  attempt_.workers.at(slot).restart_count = job.restart_count;
  survivors_.started(slot, identity.rank);
  co_await start_process(slot, std::move(process), job.restart_count);
  attempt_.workers.at(slot).pid = processes_.pid(slot);
  if (!attempt_.workers.at(slot).end) channels_.started(identity.local_rank);
}

ELASTIC_DECL task<void> worker_group::start_process(std::size_t slot, process_set::process process,
                                                    int restart_count) {
  attempt_.files.at(slot) = files_.files_of(process);
  if (process.out.file.empty() && process.err.file.empty()) {
    task<void> starting = detail::internals::start(processes_, slot, std::move(process));
    co_return co_await std::move(starting);
  }
  try {
    co_await processes_.start(slot, process);
    co_return;
  } catch (const error& failure) {
    if (!files_.drop_files(failure, slot, restart_count, process)) throw;
  }
  attempt_.files.at(slot) = {};
  co_await processes_.start(slot, process);
}

ELASTIC_DECL void worker_group::note(const process_set::process_end& end) {
  worker_group::worker& entry = attempt_.workers.at(end.index);
  entry.end = end;
  channels_.ended(static_cast<int>(end.index));
  survivors_.ended(end.index, end.status.is_success());
  if (roles_) roles_->ended(end.index);
  attempt_.ended.push_back(end.index);
  entry.stopped_by_agent = end.was_stopped && attempt_.stop_signal && entry.hung.empty() &&
                           detail::is_due_to_stop(end.status, *attempt_.stop_signal);
  if (end.status.is_success()) {
    ++attempt_.succeeded;
  } else if (!end.was_stopped && !on_replica_end_) {
    attempt_.has_failure = true;
  }
}

ELASTIC_DECL void worker_group::find_cause(const process_set::process_end& end) {
  worker_group::worker& entry = attempt_.workers.at(end.index);
  if (entry.stopped_by_agent || !entry.hung.empty() || end.status.signal() != SIGKILL) return;
  const auto kills = detail::count_oom_kills();
  entry.out_of_memory = kills && attempt_.oom_kills && *kills > *attempt_.oom_kills;
}

ELASTIC_DECL void worker_group::forgive_oom_kill() {
  const auto kills = detail::count_oom_kills();
  if (kills && attempt_.oom_kills && *kills > *attempt_.oom_kills) ++*attempt_.oom_kills;
}

ELASTIC_DECL detail::attempt_tally worker_group::attempt::tally() const {
  detail::attempt_tally tally;
  tally.workers = workers.size();
  tally.ended = ended.size();
  tally.succeeded = succeeded;
  tally.has_failure = has_failure;
  tally.is_node_bad = reports.bad_node.has_value();
  tally.is_stopping = stop_signal.has_value();
  return tally;
}

ELASTIC_DECL void worker_group::record_event(job_event::type kind,
                                             const worker_group::worker& entry,
                                             std::string reason,
                                             job_event::suspicion suspicion) {
  if (!journal_) return;
  job_event event;
  event.kind = kind;
  event.reason = std::move(reason);
  event.round = attempt_.round;
  event.attempt = entry.restart_count;
  event.rank = entry.identity.rank;
  event.local_rank = entry.identity.local_rank;
  event.pid = entry.pid;
  if (kind == job_event::type::worker_ended) {
    if (const auto code = entry.end->status.code()) event.exit_code = *code;
    if (const auto signal = entry.end->status.signal()) event.signal = *signal;
    event.state = entry.end->status.is_success() ? "succeeded" : "failed";
  }
  if (kind == job_event::type::worker_suspected) event.state = to_string(suspicion);
  journal_->record(std::move(event));
}

ELASTIC_DECL void worker_group::record_hung(const worker_group::worker& entry) {
  record_event(job_event::type::worker_hung, entry, entry.hung);
}

/// Workers that ended because they were told to are only counted, once all have ended.
ELASTIC_DECL void worker_group::record_end(const worker_group::worker& entry) {
  if (entry.stopped_by_agent) return;
  const exit_status& status = entry.end->status;
  std::string reason = status.is_success() ? std::string() : status.text();
  if (entry.out_of_memory) reason += ", while the kernel killed processes because memory ran out";
  if (!entry.hung.empty()) reason += ", hung: " + entry.hung;
  record_event(job_event::type::worker_ended, entry, std::move(reason));
}

ELASTIC_DECL void worker_group::update_state() {
  if (attempt_.state != worker_state::healthy || attempt_.is_looked_into) return;
  const detail::attempt_verdict verdict = detail::judge(attempt_.tally());
  if (verdict.state == worker_state::healthy) return;
  attempt_.state = verdict.state;
  log_.debug("the workers of this node: {}", verdict.reason);
  // While hooks inspect hung workers, no worker is stopped because of another's failure.
  if (attempt_.state == worker_state::failed && !hooks_.is_open()) begin_stop_on_failure();
  outcome_known_.set();
}

ELASTIC_DECL void worker_group::begin_stop_on_failure() {
  if (!on_failure_) return;
  attempt_.obstacle = survivors_.obstacle();
  const bool ends_all = attempt_.reports.bad_node || attempt_.reports.no_restart;
  if (!ends_all && attempt_.obstacle.empty()) return;
  attempt_.stop_signal = on_failure_->signal;
  announce_stop(*on_failure_);
  processes_.begin_stop(*on_failure_);
}

ELASTIC_DECL run_result::failure worker_group::describe(const worker_group::worker& failed,
                                                        const std::string& host) const {
  const auto slot = static_cast<std::size_t>(failed.identity.local_rank);
  run_result::failure failure;
  failure.rank = failed.identity.rank;
  failure.local_rank = failed.identity.local_rank;
  failure.group_rank = failed.identity.group_rank;
  failure.role = spec_.role;
  failure.host = host;
  failure.pid = failed.pid;
  failure.status = failed.end->status;
  failure.time = failed.end->wall;
  failure.error_file = failed.error_file;
  detail::worker_leftovers::content content = leftovers_.read(source_of(failed));
  failure.error = std::move(content.error);
  if (!failure.error) failure.error = attempt_.calls.failure(slot);
  failure.last_stderr = std::move(content.last_stderr);
  failure.full_disk = std::move(content.full_disk);
  failure.stopped_by_agent = failed.stopped_by_agent;
  failure.out_of_memory = failed.out_of_memory;
  failure.hung = failed.hung;
  const bool may_have_waited = !failed.hung.empty() || failed.end->status.signal() == SIGABRT;
  if (may_have_waited) failure.stall = attempt_.stall;
  failure.core_file = std::move(content.core_file);
  return failure;
}

ELASTIC_DECL detail::worker_leftovers::source worker_group::source_of(
    const worker_group::worker& failed) const {
  const auto slot = static_cast<std::size_t>(failed.identity.local_rank);
  detail::worker_leftovers::source source;
  source.slot = slot;
  source.pid = failed.pid;
  source.error_file = failed.error_file;
  const detail::worker_files::output& files = attempt_.files.at(slot);
  source.log_file = files.err.empty() ? files.out : files.err;
  source.read_tail = processes_.tail_reader(slot);
  source.core_dumped = failed.end->status.has_dumped_core();
  source.since = std::chrono::system_clock::to_time_t(attempt_.started);
  return source;
}

ELASTIC_DECL task<void> worker_group::read_leftovers() {
  std::vector<detail::worker_leftovers::source> failed;
  for (const std::size_t slot : attempt_.ended) {
    const worker_group::worker& each = attempt_.workers[slot];
    if (!each.end->status.is_success()) failed.push_back(source_of(each));
  }
  return leftovers_.read_ahead(std::move(failed));
}

}  // namespace elastic
