// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/hang_hooks.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/process/stdio.hpp>

#include <chrono>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL hang_hooks::hang_hooks(asio::any_io_executor strand, hang_hook settings,
                                    hang_hooks_services services)
    : state_(std::make_shared<state>(std::move(strand), std::move(settings), std::move(services))) {
}

ELASTIC_DECL hang_hooks::~hang_hooks() {
  state_->services.over = {};
  hurry();
}

ELASTIC_DECL bool hang_hooks::accepts() const {
  return !state_->settings.command.empty() && (!state_->is_running || state_->is_open);
}

ELASTIC_DECL bool hang_hooks::begin(hang_hook_call call) {
  state& all = *state_;
  if (!accepts()) return false;
  const bool is_first = !all.is_running;
  if (is_first) {
    all.is_running = all.is_open = true;
    all.hurried = false;
    all.deadline = deadline_after(all.services.time->now(), all.settings.timeout);
    all.over.reset();
    all.ended.reset();
  }
  const auto place = static_cast<std::size_t>(call.worker.local_rank);
  all.hooks[place] = {call.worker.rank, call.output_file, false};
  ++all.open;
  ++all.starting;
  run(start_one(state_, place, std::move(call)));
  if (is_first) run(run_round(state_));
  return true;
}

ELASTIC_DECL void hang_hooks::hurry() {
  if (!state_->is_open) return;
  state_->hurried = true;
  state_->processes.kill();
  state_->changed.set();
}

ELASTIC_DECL task<void> hang_hooks::finish(duration within) {
  if (!is_open()) co_return;
  time_source& time = *state_->services.time;
  const time_point deadline = deadline_after(time.now(), within);
  const bool are_over = co_await with_deadline(time, deadline, state_->over.wait());
  if (!are_over) hurry();
}

ELASTIC_DECL hang_hooks::state::state(asio::any_io_executor executor, hang_hook chosen,
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

ELASTIC_DECL process_set_services hang_hooks::state::set_services() {
  if (!services.time) services.time = std::make_shared<system_time>();
  process_set_services parts;
  parts.launcher = services.launcher;
  parts.time = services.time;
  parts.log = services.log;
  parts.console_out = services.console;
  parts.console_err = services.console;
  parts.on_end = [this](const process_end& end) { note(end); };
  return parts;
}

ELASTIC_DECL void hang_hooks::state::note(const process_end& end) {
  const auto found = hooks.find(end.index);
  if (found == hooks.end() || std::exchange(found->second.has_ended, true)) return;
  const hook& one = found->second;
  --open;
  changed.set();
  const std::string where =
      one.output_file.empty() ? "" : fmt::format("; its output: {}", one.output_file);
  if (end.status.success()) {
    services.log.info("the hang hook of rank {} has ended{}", one.rank, where);
  } else if (hurried) {
    services.log.info("the hang hook of rank {} was killed, since the workers are stopped",
                      one.rank);
  } else {
    services.log.warning("the hang hook of rank {} failed: {}{}", one.rank, end.status.text(),
                         where);
  }
}

ELASTIC_DECL void hang_hooks::run(task<void> work) {
  asio::co_spawn(state_->strand, std::move(work), [all = state_](std::exception_ptr) {});
}

ELASTIC_DECL supervised_process hang_hooks::what_to_run(const state& all,
                                                        const hang_hook_call& call) {
  environment_map variables = call.environment;
  variables["ELASTIC_HUNG_RANK"] = std::to_string(call.worker.rank);
  variables["ELASTIC_HUNG_LOCAL_RANK"] = std::to_string(call.worker.local_rank);
  variables["ELASTIC_HUNG_PID"] = std::to_string(call.worker.pid);
  variables["ELASTIC_HUNG_REASON"] = without_zero_bytes(call.worker.reason);
  variables["ELASTIC_HUNG_LOG_DIR"] = call.log_directory;
  supervised_process what;
  what.process.program = "/bin/sh";
  what.process.arguments = {"-c", all.settings.command};
  what.process.environment = environment_entries(variables);
  what.process.directory = call.directory;
  what.has_empty_input = true;
  what.out.kind = call.output_file.empty() ? output_plan::how::copy : output_plan::how::file;
  what.out.file = call.output_file;
  if (call.output_file.empty()) {
    what.out.prefix = fmt::format("[hang hook of rank {}]:", call.worker.rank);
  }
  what.err = what.out;
  return what;
}

ELASTIC_DECL std::string hang_hooks::without_zero_bytes(std::string text) {
  std::erase(text, '\0');
  return text;
}

ELASTIC_DECL task<void> hang_hooks::start_one(state_pointer all, std::size_t place,
                                              hang_hook_call call) {
  std::string problem;
  try {
    const supervised_process what = what_to_run(*all, call);
    co_await all->processes.start(place, what);
  } catch (const std::exception& failure) {
    problem = failure.what();
  }
  --all->starting;
  if (!problem.empty()) {
    all->hooks.at(place).has_ended = true;
    --all->open;
    all->services.log.warning("the hang hook of rank {} cannot be started: {}", call.worker.rank,
                              problem);
  }
  all->changed.set();
}

ELASTIC_DECL task<void> hang_hooks::run_round(state_pointer all) {
  time_source& time = *all->services.time;
  while (all->open > 0 && !all->hurried && time.now() < all->deadline) {
    all->changed.reset();
    co_await with_deadline(time, all->deadline, all->changed.wait());
  }
  if (!all->hurried) note_late(*all);
  stop_plan at_once;
  at_once.signal = SIGKILL;
  at_once.grace = duration::zero();
  all->processes.begin_stop(at_once);
  // Nobody waits for what even SIGKILL ends slowly.
  all->is_open = false;
  if (all->services.over) all->services.over();
  all->over.set();
  co_await end_all(all, at_once);
  all->hooks.clear();
  all->is_running = false;
  all->ended.set();
}

ELASTIC_DECL void hang_hooks::note_late(state& all) {
  for (auto& [place, one] : all.hooks) {
    if (std::exchange(one.has_ended, true)) continue;
    --all.open;
    all.services.log.warning(
        "the hang hook of rank {} did not end within {} s and is killed{}", one.rank,
        std::chrono::duration<double>(all.settings.timeout).count(),
        one.output_file.empty() ? "" : fmt::format("; its output: {}", one.output_file));
  }
}

ELASTIC_DECL task<void> hang_hooks::end_all(state_pointer all, stop_plan at_once) {
  while (all->starting > 0) {
    all->changed.reset();
    co_await all->changed.wait();
  }
  try {
    co_await all->processes.stop(at_once);
  } catch (const std::exception& failure) {
    all->services.log.warning("a hang hook was not ended: {}", failure.what());
  }
}

}  // namespace elastic::detail
