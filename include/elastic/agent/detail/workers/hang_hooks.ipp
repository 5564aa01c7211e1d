// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/hang_hooks.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/process/stdio.hpp>

#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL hang_hooks::hang_hooks(asio::any_io_executor strand, shell_command settings,
                                    hang_hooks_services services)
    : state_(new_shared<state>(std::move(strand), std::move(settings), std::move(services))) {}

ELASTIC_DECL hang_hooks::~hang_hooks() {
  state_->services.over = {};
  stop_waiting();
}

ELASTIC_DECL bool hang_hooks::accepts() const {
  const bool has_work = !state_->settings.command.empty() || state_->services.look;
  return has_work && (!state_->is_running || state_->is_open);
}

ELASTIC_DECL bool hang_hooks::begin(hang_hook_call call) {
  state& shared = *state_;
  if (!accepts()) return false;
  const bool is_first = !shared.is_running;
  if (is_first) {
    shared.is_running = shared.is_open = true;
    shared.hurried = false;
    shared.deadline = deadline_after(shared.services.time->now(), shared.settings.timeout);
    shared.over.reset();
    shared.ended.reset();
  }
  const auto slot = static_cast<std::size_t>(call.worker.local_rank);
  shared.hooks[slot] = {call.worker.rank, call.output_file, false};
  ++shared.open;
  ++shared.starting;
  run(start_hook(state_, slot, std::move(call)));
  if (is_first) run(run_round(state_));
  return true;
}

ELASTIC_DECL void hang_hooks::stop_waiting() {
  if (!state_->is_open) return;
  state_->hurried = true;
  state_->processes.kill();
  state_->changed.set();
}

ELASTIC_DECL task<void> hang_hooks::finish(duration timeout) {
  if (!is_open()) co_return;
  time_source& time = *state_->services.time;
  const time_point deadline = deadline_after(time.now(), timeout);
  const bool are_over = co_await with_deadline(time, deadline, state_->over.wait());
  if (!are_over) stop_waiting();
}

ELASTIC_DECL hang_hooks::state::state(asio::any_io_executor executor, shell_command chosen,
                                      hang_hooks_services parts)
    : strand(executor),
      settings(std::move(chosen)),
      services(std::move(parts)),
      changed(executor),
      over(executor),
      ended(executor),
      processes(executor, set_services()) {
  ended.set();
}

ELASTIC_DECL process_set::services hang_hooks::state::set_services() {
  if (!services.time) services.time = new_shared<system_time>();
  process_set::services parts;
  parts.launcher = services.launcher;
  parts.time = services.time;
  parts.log = services.log;
  parts.console_out = services.console;
  parts.console_err = services.console;
  parts.on_end = [this](const process_set::process_end& end) { note(end); };
  return parts;
}

ELASTIC_DECL void hang_hooks::state::note(const process_set::process_end& end) {
  const auto position = hooks.find(end.index);
  if (position == hooks.end() || std::exchange(position->second.has_ended, true)) return;
  const hook& entry = position->second;
  --open;
  changed.set();
  const std::string where =
      entry.output_file.empty() ? "" : fmt::format("; its output: {}", entry.output_file);
  if (end.status.is_success()) {
    services.log.info("the hang hook of rank {} has ended{}", entry.rank, where);
  } else if (hurried) {
    services.log.info("the hang hook of rank {} was killed, since the workers are stopped",
                      entry.rank);
  } else {
    services.log.warning("the hang hook of rank {} failed: {}{}", entry.rank, end.status.text(),
                         where);
  }
}

ELASTIC_DECL void hang_hooks::run(task<void> work) {
  start_task(state_->strand, std::move(work), [shared = state_](std::exception_ptr) {});
}

ELASTIC_DECL process_set::process hang_hooks::hook_process(const state& shared,
                                                           const hang_hook_call& call) {
  environment_map variables = call.environment;
  variables["ELASTIC_HUNG_RANK"] = std::to_string(call.worker.rank);
  variables["ELASTIC_HUNG_LOCAL_RANK"] = std::to_string(call.worker.local_rank);
  variables["ELASTIC_HUNG_PID"] = std::to_string(call.worker.pid);
  variables["ELASTIC_HUNG_REASON"] = without_zero_bytes(call.worker.reason);
  variables["ELASTIC_HUNG_LOG_DIR"] = call.log_directory;
  process_set::process supervised;
  supervised.process.program = "/bin/sh";
  supervised.process.arguments = {"-c", shared.settings.command};
  supervised.process.environment = environment_entries(variables);
  supervised.process.directory = call.directory;
  supervised.has_empty_input = true;
  supervised.out.kind = call.output_file.empty() ? output_plan::how::copy : output_plan::how::file;
  supervised.out.file = call.output_file;
  if (call.output_file.empty()) {
    supervised.out.prefix = fmt::format("[hang hook of rank {}]:", call.worker.rank);
  }
  supervised.err = supervised.out;
  return supervised;
}

ELASTIC_DECL std::string hang_hooks::without_zero_bytes(std::string text) {
  std::erase(text, '\0');
  return text;
}

ELASTIC_DECL task<bool> hang_hooks::look_first(state_pointer shared, hang_hook_call& call) {
  if (shared->services.look) {
    call.environment["ELASTIC_HUNG_VERDICT"] = without_zero_bytes(co_await shared->services.look());
  }
  co_return call.has_command && !shared->settings.command.empty() && !shared->hurried;
}

ELASTIC_DECL task<void> hang_hooks::start_hook(state_pointer shared, std::size_t slot,
                                               hang_hook_call call) {
  std::string problem;
  try {
    const bool has_command = co_await look_first(shared, call);
    if (!has_command) {
      --shared->starting;
      // A hook that has not ended is still counted, unless `finish` no longer waits for it.
      if (!std::exchange(shared->hooks.at(slot).has_ended, true)) --shared->open;
      shared->changed.set();
      co_return;
    }
    const process_set::process supervised = hook_process(*shared, call);
    co_await shared->processes.start(slot, supervised);
  } catch (const std::exception& failure) {
    problem = failure.what();
  }
  --shared->starting;
  if (!problem.empty()) {
    shared->hooks.at(slot).has_ended = true;
    --shared->open;
    shared->services.log.warning("the hang hook of rank {} cannot be started: {}", call.worker.rank,
                                 problem);
  }
  shared->changed.set();
}

ELASTIC_DECL task<void> hang_hooks::run_round(state_pointer shared) {
  time_source& time = *shared->services.time;
  while (shared->open > 0 && !shared->hurried && time.now() < shared->deadline) {
    shared->changed.reset();
    co_await with_deadline(time, shared->deadline, shared->changed.wait());
  }
  if (!shared->hurried) log_late(*shared);
  stop_plan at_once;
  at_once.signal = SIGKILL;
  at_once.grace = duration::zero();
  shared->processes.begin_stop(at_once);
  // Does not wait for processes that take long to end even after SIGKILL.
  shared->is_open = false;
  if (shared->services.over) shared->services.over();
  shared->over.set();
  co_await end_processes(shared, at_once);
  shared->hooks.clear();
  shared->is_running = false;
  shared->ended.set();
}

ELASTIC_DECL void hang_hooks::log_late(state& shared) {
  for (auto& [slot, entry] : shared.hooks) {
    if (std::exchange(entry.has_ended, true)) continue;
    --shared.open;
    shared.services.log.warning(
        "the hang hook of rank {} did not end within {} s and is killed{}", entry.rank,
        std::chrono::duration<double>(shared.settings.timeout).count(),
        entry.output_file.empty() ? "" : fmt::format("; its output: {}", entry.output_file));
  }
}

ELASTIC_DECL task<void> hang_hooks::end_processes(state_pointer shared, stop_plan at_once) {
  while (shared->starting > 0) {
    shared->changed.reset();
    co_await shared->changed.wait();
  }
  try {
    co_await shared->processes.stop(at_once);
  } catch (const std::exception& failure) {
    shared->services.log.warning("a hang hook was not ended: {}", failure.what());
  }
}

}  // namespace elastic::detail
