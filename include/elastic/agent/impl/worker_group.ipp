// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_group.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/assert.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/contract/macros.hpp>
#include <elastic/contract/visible_devices.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/core_file.hpp>
#include <elastic/process/oom_kills.hpp>
#include <elastic/process/process_tree.hpp>

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {

ELASTIC_DECL std::vector<worker_identity> identities(const worker_spec& spec,
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

ELASTIC_DECL worker_surroundings surroundings(const worker_spec& spec,
                                              const rendezvous_round& round, std::string run_id,
                                              int restart_count) {
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

ELASTIC_DECL bool is_due_to_stop(const exit_status& status, int stop_signal) {
  const std::optional<int> signal = status.signal();
  return !signal || *signal == stop_signal || *signal == SIGKILL || *signal == SIGTERM;
}

}  // namespace detail

ELASTIC_DECL worker_group::worker_group(asio::any_io_executor strand, worker_spec spec,
                                        const agent_services& services, log_layout& layout)
    : spec_(std::move(spec)),
      layout_(layout),
      logs_(services.logs ? services.logs : std::make_shared<default_logs_specs>()),
      log_(services.log),
      observer_(services.observer),
      outcome_known_(strand),
      time_(services.time),
      channels_(strand, channel_options(services)),
      hooks_(strand, spec_.on_hang, hook_services(services)),
      processes_(strand, process_services(services)) {}

ELASTIC_DECL task<void> worker_group::start(rendezvous_round round, assigned_ranks ranks,
                                            std::string run_id, int restart_count) {
  ELASTIC_ASSERT(processes_.running() == 0);
  layout_.start_attempt(restart_count, spec_.local_world_size);
  const worker_surroundings job = surroundings(spec_, round, std::move(run_id), restart_count);
  started_ = time_->wall_now();
  oom_kills_ = count_oom_kills();
  workers_.clear();
  sheets_.clear();
  ended_.clear();
  condemned_.clear();
  succeeded_ = 0;
  has_failed_ = false;
  stop_signal_.reset();
  stop_announced_ = false;
  no_restart_.reset();
  bad_node_.reset();
  outcome_known_.reset();
  base_rank_ = ranks.base_rank;
  channels_.open(spec_.local_world_size);
  state_ = worker_state::init;
  stop_plan at_once;
  at_once.signal = SIGKILL;
  co_await with_rollback(start_all(identities(spec_, round, ranks), job), stop(at_once));
  state_ = worker_state::healthy;
  judge();
}

ELASTIC_DECL task<void> worker_group::wait_for_outcome() {
  if (state_ == worker_state::healthy) co_await outcome_known_.wait();
}

ELASTIC_DECL task<void> worker_group::stop(stop_plan plan) {
  stop_signal_ = plan.signal;
  hooks_.hurry();
  announce_stop(plan);
  co_await processes_.stop(plan);
  co_await channels_.close();
  co_await hooks_.wait_for_end();
}

ELASTIC_DECL void worker_group::announce(const started_workers& all) {
  tell_observer([&](worker_observer& observer) { observer.started(all); });
}

ELASTIC_DECL void worker_group::kill() {
  if (!stop_signal_) stop_signal_ = SIGKILL;
  hooks_.hurry();
  processes_.kill();
}

ELASTIC_DECL const worker* worker_group::first_failed() const {
  for (const std::size_t index : ended_) {
    if (!workers_[index].end->status.success()) return &workers_[index];
  }
  return nullptr;
}

ELASTIC_DECL std::vector<worker_failure> worker_group::failures(const std::string& host) const {
  std::vector<worker_failure> described;
  for (const std::size_t index : ended_) {
    const worker& one = workers_[index];
    if (!one.end->status.success()) described.push_back(describe(one, host));
  }
  return described;
}

ELASTIC_DECL std::map<int, nlohmann::json> worker_group::return_values() const {
  std::map<int, nlohmann::json> values;
  for (std::size_t slot = 0; slot < sheets_.size(); ++slot) {
    const worker& one = workers_[slot];
    if (!one.end || !one.end->status.success()) continue;
    take_value(values, one.identity.rank, sheets_[slot].answer());
  }
  return values;
}

ELASTIC_DECL process_set_services worker_group::process_services(const agent_services& services) {
  process_set_services parts;
  parts.launcher = services.launcher;
  parts.time = services.time;
  parts.log = services.log;
  parts.console_out = services.console_out;
  parts.console_err = services.console_err;
  parts.on_end = [this](const process_end& end) {
    note(end);
    judge();
    note_cause(end);
  };
  return parts;
}

ELASTIC_DECL hang_hooks_services worker_group::hook_services(const agent_services& services) {
  hang_hooks_services parts;
  parts.launcher = services.hook_launcher;
  parts.time = services.time;
  parts.log = services.log;
  parts.console = services.console_err;
  parts.over = [this] { end_condemned(); };
  return parts;
}

ELASTIC_DECL worker_channels_options worker_group::channel_options(const agent_services& services) {
  worker_channels_options parts;
  parts.liveness = spec_.liveness;
  parts.time = services.time;
  parts.log = services.log;
  parts.timer_file = find_variable(spec_.environment, "TORCHELASTIC_ENABLE_FILE_TIMER") == "1";
  parts.timer_path =
      find_variable(spec_.environment, "TORCHELASTIC_TIMER_FILE").value_or(std::string());
  channel_events& events = parts.events;
  events.hung = [this](int local_rank, const liveness_verdict& verdict) {
    end_hung(local_rank, verdict);
  };
  events.progress = [this](int local_rank, const control_messages::progress& said) {
    pass_on(local_rank, said);
  };
  events.no_restart = [this](int local_rank, const std::string& reason) {
    if (no_restart_) return;
    no_restart_ = said_by(local_rank, "asked not to be started again", reason);
    log_.warning("{}", *no_restart_);
  };
  events.bad_node = [this](int local_rank, const std::string& reason) {
    if (bad_node_) return;
    bad_node_ = said_by(local_rank, "says that this node is bad", reason);
    log_.error("{}", *bad_node_);
    judge();
  };
  events.owner_of = [this](pid_t pid) { return owner_of(pid); };
  return parts;
}

ELASTIC_DECL std::string worker_group::said_by(int local_rank, const char* what,
                                               const std::string& reason) const {
  return fmt::format("rank {} {}{}{}", base_rank_ + local_rank, what, reason.empty() ? "" : ": ",
                     reason);
}

ELASTIC_DECL void worker_group::end_hung(int local_rank, const liveness_verdict& verdict) {
  const auto slot = static_cast<std::size_t>(local_rank);
  if (slot >= workers_.size() || workers_[slot].end) return;
  worker& one = workers_[slot];
  one.hung = verdict.reason;
  const bool has_hook = !stop_signal_ && hooks_.accepts();
  log_.warning("{} rank {} (local rank {}, pid {}) is hung: {}; it gets {}{}",
               one.identity.role_name, one.identity.rank, local_rank, one.pid, one.hung,
               signal_name(verdict.signal), has_hook ? " after the hang hook" : "");
  hung_worker found;
  found.rank = one.identity.rank;
  found.local_rank = local_rank;
  found.pid = one.pid;
  found.reason = one.hung;
  tell_observer([&](worker_observer& observer) { observer.hung(found); });
  if (has_hook) hooks_.begin(hook_for(std::move(found)));
  if (hooks_.is_open()) {
    condemned_.emplace_back(slot, verdict.signal);
  } else {
    processes_.signal(slot, verdict.signal);
  }
}

ELASTIC_DECL hang_hook_call worker_group::hook_for(hung_worker found) const {
  hang_hook_call call;
  call.environment = spec_.environment;
  // What a launcher around this one said of its own channel is not for the hook.
  call.environment.erase("ELASTIC_CONTROL");
  call.directory = spec_.directory;
  call.log_directory = layout_.directory(found.local_rank);
  if (layout_.keeps_files()) call.output_file = layout_.hang_file(found.local_rank);
  call.worker = std::move(found);
  return call;
}

ELASTIC_DECL void worker_group::end_condemned() {
  for (const auto& [slot, signal] : std::exchange(condemned_, {})) {
    processes_.signal(slot, signal);
  }
  if (state_ == worker_state::failed && !stop_signal_) begin_stop_on_failure();
}

ELASTIC_DECL void worker_group::pass_on(int local_rank, const control_messages::progress& said) {
  worker_progress made;
  made.rank = base_rank_ + local_rank;
  made.local_rank = local_rank;
  made.step = said.step;
  made.total = said.total;
  made.text = said.text;
  made.metrics = said.metrics;
  tell_observer([&](worker_observer& observer) { observer.progress(made); });
}

ELASTIC_DECL std::optional<int> worker_group::owner_of(pid_t pid) const {
  constexpr int deepest = 64;
  for (int level = 0; level < deepest && pid > 1; ++level) {
    for (const worker& one : workers_) {
      if (one.pid == pid && !one.end) return one.identity.local_rank;
    }
    const auto entry = read_process(pid);
    if (!entry) break;
    pid = entry->parent;
  }
  return std::nullopt;
}

ELASTIC_DECL void worker_group::announce_stop(const stop_plan& plan) {
  if (plan.signal == SIGKILL || std::exchange(stop_announced_, true)) return;
  channels_.announce_stop(plan.grace);
}

ELASTIC_DECL task<void> worker_group::start_all(std::vector<worker_identity> all,
                                                const worker_surroundings& job) {
  workers_.resize(all.size());
  if (spec_.function) sheets_.resize(all.size());
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
  co_await when_all(std::move(starts));
}

ELASTIC_DECL std::vector<std::string> worker_group::environment_of(
    const worker_identity& who, const worker_surroundings& job,
    const std::string& error_file) const {
  environment_map variables = spec_.environment;
  for (const auto& [name, value] : channels_.environment()) {
    // What a launcher around this one said of its own channel is not for our workers.
    if (value.empty())
      variables.erase(name);
    else
      variables[name] = value;
  }
  for (const auto& [name, value] : spec_.variables) {
    variables[name] = substitute_macros(value, macros_of(who.role_name, who.rank, who.local_rank));
  }
  worker_identity shown = who;
  if (spec_.virtual_local_rank) {
    leave_one_device(variables, who.local_rank);
    shown.local_rank = 0;
  }
  return worker_environment(std::move(variables), shown, job, error_file);
}

ELASTIC_DECL task<void> worker_group::start_worker(worker_identity who,
                                                   const worker_surroundings& job,
                                                   worker_output output) {
  const auto slot = static_cast<std::size_t>(who.local_rank);
  const std::string error_file = layout_.error_file(who.local_rank);
  supervised_process what;
  what.process.program = spec_.program;
  for (const std::string& argument : spec_.arguments) {
    what.process.arguments.push_back(substitute_local_rank(argument, who.local_rank));
  }
  what.process.environment = environment_of(who, job, error_file);
  if (!spec_.processors.empty()) what.process.processors = spec_.processors.at(slot);
  if (spec_.function) give_call(slot, what.process);
  what.process.directory = spec_.directory;
  what.out = std::move(output.out);
  what.err = std::move(output.err);
  workers_.at(slot).error_file = error_file;
  workers_.at(slot).identity = who;
  co_await processes_.start(slot, what);
  workers_.at(slot).pid = processes_.pid(slot);
  if (!workers_.at(slot).end) channels_.started(who.local_rank);
}

ELASTIC_DECL void worker_group::give_call(std::size_t slot, process_spec& process) {
  sheets_.at(slot) = call_sheet::make(detail::arguments_text(*spec_.function),
                                      return_value_bound(spec_.local_world_size));
  process.stdin_fd = sheets_[slot].descriptor();
  const std::string variable = fmt::format("{}=", entrypoint_variable);
  std::erase_if(process.environment, [&](const auto& one) { return one.starts_with(variable); });
  process.environment.push_back(variable + spec_.function->name);
}

ELASTIC_DECL void worker_group::take_value(std::map<int, nlohmann::json>& values, int rank,
                                           call_answer answer) const {
  std::string problem;
  if (answer.kind == call_answer::what::value) {
    try {
      values.emplace(rank, detail::call_value(answer.text, "it"));
      return;
    } catch (const error& failure) {
      problem = failure.what();
    }
  } else {
    problem = answer.kind == call_answer::what::garbage ? answer.text
                                                        : "it ended before its function returned";
  }
  log_.warning("rank {} ended with success, but there is no return value: {}", rank, problem);
}

ELASTIC_DECL std::optional<error_file_content> worker_group::failure_of_call(
    std::size_t slot) const {
  if (slot >= sheets_.size()) return std::nullopt;
  const call_answer left = sheets_[slot].answer();
  if (left.kind != call_answer::what::failure) return std::nullopt;
  return parse_error_file(left.text);
}

ELASTIC_DECL void worker_group::note(const process_end& end) {
  worker& one = workers_.at(end.index);
  one.end = end;
  channels_.ended(static_cast<int>(end.index));
  ended_.push_back(end.index);
  one.stopped_by_agent = end.was_stopped && stop_signal_ && one.hung.empty() &&
                         detail::is_due_to_stop(end.status, *stop_signal_);
  if (end.status.success()) {
    ++succeeded_;
  } else if (!end.was_stopped) {
    has_failed_ = true;
  }
}

ELASTIC_DECL void worker_group::note_cause(const process_end& end) {
  worker& one = workers_.at(end.index);
  if (one.stopped_by_agent || !one.hung.empty() || end.status.signal() != SIGKILL) return;
  const auto kills = count_oom_kills();
  one.out_of_memory = kills && oom_kills_ && *kills > *oom_kills_;
}

ELASTIC_DECL void worker_group::judge() {
  if (state_ != worker_state::healthy) return;
  if (succeeded_ == workers_.size()) {
    state_ = worker_state::succeeded;
  } else if (has_failed_ || bad_node_) {
    state_ = worker_state::failed;
  } else if (stop_signal_ && ended_.size() == workers_.size()) {
    state_ = worker_state::stopped;
  } else {
    return;
  }
  // While hooks look at some of them, nobody is stopped for what another one did.
  if (state_ == worker_state::failed && !hooks_.is_open()) begin_stop_on_failure();
  outcome_known_.set();
}

ELASTIC_DECL void worker_group::begin_stop_on_failure() {
  if (!on_failure_) return;
  stop_signal_ = on_failure_->signal;
  announce_stop(*on_failure_);
  processes_.begin_stop(*on_failure_);
}

ELASTIC_DECL worker_failure worker_group::describe(const worker& one,
                                                   const std::string& host) const {
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
  if (!failure.error) failure.error = failure_of_call(slot);
  failure.last_stderr = processes_.tail(slot);
  failure.stopped_by_agent = one.stopped_by_agent;
  failure.out_of_memory = one.out_of_memory;
  failure.hung = one.hung;
  if (one.end->status.core_dumped()) {
    // The directory is that in which the agent's programs start: relative names are of there.
    const auto since = std::chrono::system_clock::to_time_t(started_);
    failure.core_file = find_core(one.pid, spec_.directory, since);
  }
  return failure;
}

}  // namespace elastic
