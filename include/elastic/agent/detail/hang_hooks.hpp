// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

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
#include <elastic/telemetry/worker_observer.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace elastic::detail {

/// One run of the hook.
struct hang_hook_call {
  worker_observer::hung_worker worker;
  /// What the variables of the hook are added to.
  environment_map environment;
  /// Its working directory; empty: the agent's.
  std::string directory;
  /// The directory of the worker's log files, and the file for what the hook writes; empty: none.
  std::string log_directory;
  std::string output_file;
  /// False: it is looked at, and no command runs.
  bool has_command = true;
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
  /// Awaited before the command of each call, once all workers are as they were; its result is for
  /// the command. It ends by itself. Empty: nothing is.
  std::function<task<std::string>()> look{};
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
  ELASTIC_DECL hang_hooks(asio::any_io_executor strand, shell_command settings,
                          hang_hooks_services services);
  hang_hooks(const hang_hooks&) = delete;
  hang_hooks& operator=(const hang_hooks&) = delete;
  ELASTIC_DECL ~hang_hooks();

  /// Sets `hang_hooks_services::look`.
  void look_first(std::function<task<std::string>()> look) {
    state_->services.look = std::move(look);
  }

  /// Whether `begin` would do anything: there is a command or a look, and those of before are not
  /// being killed.
  ELASTIC_DECL bool accepts() const;

  /// Looks, and runs the hook for one more worker; `over` is called when all are done, which may be
  /// before this returns. A worker has one hook at a time.
  ///
  /// Result: false if it does not accept one.
  ELASTIC_DECL bool begin(hang_hook_call call);

  /// Whether hooks run that are waited for.
  bool is_open() const { return state_->is_open; }

  /// Kills the hooks that run, now. Their workers may be ended.
  ELASTIC_DECL void hurry();

  /// Waits until the hooks are over, at most `within`; they are killed then.
  ///
  /// Cancellation: all types; throws `operation_aborted`, and the hooks go on.
  ELASTIC_DECL task<void> finish(duration within);

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
    ELASTIC_DECL state(asio::any_io_executor executor, shell_command chosen,
                       hang_hooks_services parts);
    ELASTIC_DECL process_set::services set_services();
    ELASTIC_DECL void note(const process_set::process_end& end);

    asio::any_io_executor strand;
    shell_command settings;
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
  ELASTIC_DECL void run(task<void> work);
  ELASTIC_DECL static process_set::process hook_process(const state& shared,
                                                        const hang_hook_call& call);

  // A worker names its sections and timers as it likes.
  ELASTIC_DECL static std::string without_zero_bytes(std::string text);
  // Result: false if there is no command to run any more.
  ELASTIC_DECL static task<bool> look_first(state_pointer shared, hang_hook_call& call);
  ELASTIC_DECL static task<void> start_hook(state_pointer shared, std::size_t slot,
                                            hang_hook_call call);
  ELASTIC_DECL static task<void> run_round(state_pointer shared);
  ELASTIC_DECL static void note_late(state& shared);
  ELASTIC_DECL static task<void> end_processes(state_pointer shared, stop_plan at_once);

  state_pointer state_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/hang_hooks.ipp>
#endif
