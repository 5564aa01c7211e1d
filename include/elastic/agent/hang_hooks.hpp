// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/hang_hook.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/console_writer.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_set.hpp>
#include <elastic/process/stdio.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// One run of a hang_hook.
struct hang_hook_call {
  hung_worker worker;
  /// What the variables of the hook are added to.
  environment_map environment;
  /// Its working directory; empty: the agent's.
  std::string directory;
  /// The directory of the worker's log files, and the file for what the hook writes; empty: none.
  std::string log_directory;
  std::string output_file;
};

/// What `hang_hooks` works with.
struct hang_hooks_services {
  /// Starts the hooks. Null: as for a process_set.
  std::shared_ptr<process_launcher> launcher{};
  /// Null: `system_time`.
  std::shared_ptr<time_source> time{};
  logger log{};
  /// Where hooks without a file write to; null: nowhere.
  std::shared_ptr<output_sink> console{};
  /// The hooks are over, and their workers may be ended. Must not throw.
  std::function<void()> over{};
};

/// Runs hooks for hung workers, side by side and all within the time of one, counted from the
/// first. When it is over, whatever is left of them is killed.
///
/// Whatever becomes of a hook, it is said in the log and keeps nobody from ending the workers.
/// Thread-safety: one strand at a time, the one it was given.
class hang_hooks {
 public:
  hang_hooks(asio::any_io_executor strand, hang_hook settings, hang_hooks_services services)
      : state_(std::make_shared<state>(std::move(strand), std::move(settings),
                                       std::move(services))) {}
  hang_hooks(const hang_hooks&) = delete;
  hang_hooks& operator=(const hang_hooks&) = delete;
  ~hang_hooks() {
    state_->services.over = {};
    hurry();
  }

  /// Whether `begin` would run one: there is a command, and those of before are not being killed.
  bool accepts() const {
    return !state_->settings.command.empty() && (!state_->is_running || state_->is_open);
  }

  /// Runs the hook for one more worker; `over` is called when all are done, which may be before
  /// this returns. A worker has one hook at a time.
  ///
  /// Result: false where it does not accept one.
  bool begin(hang_hook_call call) {
    state& all = *state_;
    if (!accepts()) return false;
    const bool is_first = !all.is_running;
    if (is_first) {
      all.is_running = all.is_open = true;
      all.hurried = false;
      all.deadline = all.services.time->now() + all.settings.timeout;
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

  /// Whether hooks run that are waited for.
  bool is_open() const { return state_->is_open; }

  /// Kills the hooks that run, now. Their workers may be ended.
  void hurry() {
    if (!state_->is_open) return;
    state_->hurried = true;
    state_->processes.kill();
    state_->changed.set();
  }

  /// Waits until the hooks are over, at most `within`; they are killed then.
  ///
  /// Cancellation: all types; throws `operation_aborted`, and the hooks go on.
  task<void> finish(duration within) {
    if (!is_open()) co_return;
    time_source& time = *state_->services.time;
    const time_point now = time.now();
    const time_point deadline =
        within < time_point::max() - now ? now + within : time_point::max();
    const bool are_over = co_await with_deadline(time, deadline, state_->over.wait());
    if (!are_over) hurry();
  }

  /// Waits until nothing of the hooks is left.
  ///
  /// Cancellation: all types; throws `operation_aborted`, and they end all the same.
  task<void> wait_for_end() { return state_->ended.wait(); }

 private:
  /// One hook.
  struct hook {
    int rank = 0;
    std::string output_file;
    bool has_ended = false;
  };

  // Shared with the coroutines in the background, which may outlive this by a moment.
  struct state {
    state(asio::any_io_executor executor, hang_hook chosen, hang_hooks_services parts)
        : strand(executor),
          settings(std::move(chosen)),
          services(std::move(parts)),
          changed(executor),
          over(executor),
          ended(executor),
          processes(executor, set_services()) {
      ended.set();
    }

    process_set_services set_services() {
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

    void note(const process_end& end) {
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

    asio::any_io_executor strand;
    hang_hook settings;
    hang_hooks_services services;
    /// By local rank.
    std::map<std::size_t, hook> hooks;
    /// How many have not ended, and of these, how many are being started.
    int open = 0;
    int starting = 0;
    /// Something of it runs; and is waited for.
    bool is_running = false;
    bool is_open = false;
    bool hurried = false;
    time_point deadline{};
    event_flag changed;
    event_flag over;
    event_flag ended;
    process_set processes;
  };
  using state_pointer = std::shared_ptr<state>;

  void run(task<void> work) {
    asio::co_spawn(state_->strand, std::move(work), [all = state_](std::exception_ptr) {});
  }

  static supervised_process what_to_run(const state& all, const hang_hook_call& call) {
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

  // A worker names its sections and timers as it likes.
  static std::string without_zero_bytes(std::string text) {
    std::erase(text, '\0');
    return text;
  }

  static task<void> start_one(state_pointer all, std::size_t place, hang_hook_call call) {
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

  static task<void> run_round(state_pointer all) {
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

  static void note_late(state& all) {
    for (auto& [place, one] : all.hooks) {
      if (std::exchange(one.has_ended, true)) continue;
      --all.open;
      all.services.log.warning(
          "the hang hook of rank {} did not end within {} s and is killed{}", one.rank,
          std::chrono::duration<double>(all.settings.timeout).count(),
          one.output_file.empty() ? "" : fmt::format("; its output: {}", one.output_file));
    }
  }

  static task<void> end_all(state_pointer all, stop_plan at_once) {
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

  state_pointer state_;
};

}  // namespace elastic
