// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/shell_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_set.hpp>
#include <elastic/process/stop_plan.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace elastic::detail {

/// One run of the hook.
struct hang_hook_call {
  agent_part::hung_worker worker;
  /// The environment to which the variables of the hook are added.
  environment_map environment;
  /// Its working directory; empty: the agent's.
  std::string directory;
  /// The directory of the worker's log files, and the file for the hook's output; empty: none.
  std::string log_directory;
  std::string output_file;
  /// False: the worker is only inspected by `look`, and no command runs.
  bool has_command = true;
};

/// The services that `hang_hooks` uses.
struct hang_hooks_services {
  /// Starts the hooks. Null: as for a process_set.
  std::shared_ptr<process_launcher> launcher{};
  /// Null: `system_time`.
  std::shared_ptr<time_source> time{};
  logger log{};
  /// The output of hooks without a file; null: discarded.
  std::shared_ptr<output_sink> console{};
  /// Awaited before the command of each call, while no worker has been killed yet. Its result is
  /// passed to the command. It must end by itself. Empty: not used.
  std::function<task<std::string>()> look{};
  /// Called when the hooks are done, so that their workers may be killed. Must not throw.
  std::function<void()> over{};
};

/// Runs hooks for hung workers concurrently. All share one time-out, counted from the first; then
/// whatever is left of them is killed.
///
/// The log reports how each hook ended. A failed hook does not prevent the workers from being
/// killed.
/// Thread-safety: one strand at a time, the one it was given.
class hang_hooks {
 public:
  ELASTIC_DECL hang_hooks(asio::any_io_executor strand, shell_command settings,
                          hang_hooks_services services);
  hang_hooks(const hang_hooks&) = delete;
  hang_hooks& operator=(const hang_hooks&) = delete;
  ELASTIC_DECL ~hang_hooks();

  /// Sets `hang_hooks_services::look`.
  void look_first(std::function<task<std::string>()> look) {
    state_->services.look = std::move(look);
  }

  /// Whether `begin` would do anything: there is a command or a `look`, and earlier hooks are not
  /// being killed.
  ELASTIC_DECL bool accepts() const;

  /// Awaits `look` and runs the hook for one more worker. `over` is called when all are done, which
  /// may be before this returns. A worker has one hook at a time.
  ///
  /// Result: false if no hook is accepted.
  ELASTIC_DECL bool begin(hang_hook_call call);

  /// Whether the workers still have to wait for hooks.
  bool is_open() const { return state_->is_open; }

  /// Kills the running hooks now. Their workers may then be killed.
  ELASTIC_DECL void stop_waiting();

  /// Waits at most `timeout` until the hooks are done; then kills them.
  ///
  /// Cancellation: all types; throws `operation_aborted`, and the hooks continue.
  ELASTIC_DECL task<void> finish(duration timeout);

  /// Waits until nothing of the hooks is left.
  ///
  /// Cancellation: all types; throws `operation_aborted`, and the hooks still end.
  task<void> wait_for_end() { return state_->ended.wait(); }

 private:
  /// One hook.
  struct hook {
    int rank = 0;
    std::string output_file;
    bool has_ended = false;
  };

  // Shared with background coroutines, which may briefly outlive this object.
  struct state {
    ELASTIC_DECL state(asio::any_io_executor executor, shell_command chosen,
                       hang_hooks_services parts);
    ELASTIC_DECL process_set::services set_services();
    ELASTIC_DECL void note(const process_set::process_end& end);

    asio::any_io_executor strand;
    shell_command settings;
    hang_hooks_services services;
    /// By local rank.
    std::map<std::size_t, hook> hooks;
    /// How many hooks have not ended, and how many of these are being started.
    int open = 0;
    int starting = 0;
    /// Whether some hook runs, and whether the workers wait for it.
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
  ELASTIC_DECL void run(task<void> work);
  ELASTIC_DECL static process_set::process hook_process(const state& shared,
                                                        const hang_hook_call& call);

  // Removes zero bytes: a worker may give its sections and timers any name.
  ELASTIC_DECL static std::string without_zero_bytes(std::string text);
  // Result: false if no command should run any more.
  ELASTIC_DECL static task<bool> look_first(state_pointer shared, hang_hook_call& call);
  ELASTIC_DECL static task<void> start_hook(state_pointer shared, std::size_t slot,
                                            hang_hook_call call);
  ELASTIC_DECL static task<void> run_round(state_pointer shared);
  ELASTIC_DECL static void log_late(state& shared);
  ELASTIC_DECL static task<void> end_processes(state_pointer shared, stop_plan at_once);

  state_pointer state_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/hang_hooks.ipp>
#endif
