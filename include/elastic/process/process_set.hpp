// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/async_run.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/proc_snapshot.hpp>
#include <elastic/process/detail/process_slot.hpp>
#include <elastic/process/detail/stop_ladder.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/process/stdio.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// A set of processes that are started one by one, but watched and stopped together. Each has a
/// slot in the set, its index, which can be reused after `clear`.
///
///     process_set workers(strand, services);
///     for (std::size_t i = 0; i < count; ++i) co_await workers.start(i, worker);
///     for (;;) {                                   // restarts each process that ends
///       process_set::process_end end = co_await workers.next_end();
///       co_await workers.clear(end.index);
///       co_await workers.start(end.index, worker);
///     }
///
/// When `stop` returns, everything that it runs in the background has ended. The destructor does
/// not wait: it kills the processes that still run and ends each pending call with
/// `operation_aborted`. The context of the strand must outlive the set.
///
/// Thread-safety: one strand at a time, the one it was given.
class process_set {
 public:
  /// A process with the destinations of its output.
  struct process {
    /// `out` and `err` replace its stdout and stderr descriptors.
    process_spec process = {};
    output_plan out = {};
    output_plan err = {};
    /// True: stdin is empty. False: stdin is that of `process`.
    bool has_empty_input = false;
  };

  /// How and when a process of a set ended.
  struct process_end {
    std::size_t index = 0;
    pid_t pid = 0;
    exit_status status = {};
    time_point time = {};
    wall_time wall = {};
    /// Whether the set asked it to end or killed it.
    bool was_stopped = false;
  };

  /// The services that a `process_set` uses.
  struct services {
    /// Null: a `pidfd_launcher` on the set's strand.
    std::shared_ptr<process_launcher> launcher{};
    /// Null: `system_time`.
    std::shared_ptr<time_source> time{};
    /// Default: silent.
    logger log{};
    /// Where copied output is shown; null: nowhere.
    std::shared_ptr<output_sink> console_out{};
    std::shared_ptr<output_sink> console_err{};
    /// Called for each end as soon as it is seen, but not before `start` has returned. If set,
    /// `next_end` and `take_ends` return nothing. Must neither throw nor destroy the set.
    std::function<void(const process_end&)> on_end{};
    /// Called when a process writes one of the texts to stderr, if that is copied and its plan set
    /// `keep_tail`. A text that arrives in two pieces may be missed. Must neither throw nor destroy
    /// the set.
    std::vector<std::string> alarm_texts{};
    std::function<void(std::size_t index)> on_alarm{};
    /// How long the kernel may take to end a killed process before each check of its state.
    duration killed_patience = limits::killed_patience;

    /// The functions that tests replace.
    class probes {
      friend detail::internals;
      struct members {
        /// Performs the check of a killed process. Empty result: it has ended meanwhile.
        std::function<std::optional<detail::proc_snapshot>(pid_t)> look = detail::look_at_process;
        /// Whether the file system of a log file may hang, so that it is opened and written on
        /// threads.
        std::function<bool(const std::string&)> may_hang = detail::may_hang;
      };
      members members_;
    };
    probes internal{};
  };

  ELASTIC_DECL explicit process_set(asio::any_io_executor strand);
  ELASTIC_DECL process_set(asio::any_io_executor strand, services parts);
  process_set(const process_set&) = delete;
  process_set& operator=(const process_set&) = delete;
  ~process_set() { abandon(*state_); }

  /// Starts a process in the slot `index`, which must be free: never used, or cleared. A set has
  /// the slots below `limits::process_slots`, and takes 16 bytes for each up to the highest used.
  ///
  /// Errors: those of the launcher; `errc::file_access` (a log file) and `errc::start_failed` (a
  /// pipe) for its output. The slot is then free. `errc::invalid_argument` if the slot does not
  /// exist, or is not free; its process is then not affected.
  /// Cancellation: all types; either nothing was started or the process runs. Opening a file that
  /// hangs continues in the background.
  ELASTIC_DECL task<void> start(std::size_t index, named<process> plan) &;

  /// The same on the set's strand, with any completion token: `elastic::async_run` says how it
  /// calls the handler and what cancels it. `async_next_end`, `async_stop` and `async_clear` are
  /// likewise those below.
  template <class CompletionToken>
  auto async_start(std::size_t index, named<process> plan, CompletionToken&& token) & {
    return async_run(state_->strand, start(index, plan), std::forward<CompletionToken>(token));
  }

  /// Returns the earliest end that was not returned yet; waits for one if there is none. It does
  /// not wait for the process's descendants or its output (see `clear`).
  ///
  /// Cancellation: all types; throws `operation_aborted`, and no end is lost. One waiter at a time.
  task<process_end> next_end() & { return next_end_of(state_); }

  template <class CompletionToken>
  auto async_next_end(CompletionToken&& token) & {
    return async_run(state_->strand, next_end(), std::forward<CompletionToken>(token));
  }

  /// The ends that were not returned yet, in chronological order.
  ELASTIC_DECL std::vector<process_end> take_ends();

  /// Sends a signal to every running process and its process group, and to processes that are being
  /// started as soon as they run.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void signal(int number);

  /// The same for one slot, if a process runs there.
  ELASTIC_DECL void signal(std::size_t index, int number);

  /// Performs the first step of a stop, the plan's signal to each process, and returns. Must be
  /// followed by `stop` with the same plan, which continues from there.
  /// Errors: `errc::invalid_argument` if there is no such signal.
  ELASTIC_DECL void begin_stop(stop_plan plan);

  /// Stops all processes: sends the plan's signal to each, waits for one common grace period, sends
  /// SIGKILL to the rest, and clears every slot. The plan's scope defines which processes receive
  /// the signal. When it returns, nothing runs and all output is written, except what a console did
  /// not accept within the grace period (at least `limits::console_after_stop`), or a file that
  /// hangs within `limits::file_after_stop` after that. `next_end` and `take_ends` still return the
  /// ends.
  ///
  /// Errors: the first one of a custom launcher's `end_tree`, after everything else is done;
  /// `errc::process_stuck`, naming the process and where in the kernel it waits, for a killed
  /// process that has made no progress for `killed_patience`: it is abandoned, and its slot is
  /// free; `errc::invalid_argument`, and nothing is stopped, if there is no such signal.
  /// Cancellation: all types; throws `operation_aborted` and leaves the stop incomplete; call it
  /// again. One caller at a time.
  task<void> stop(stop_plan plan) & { return stop_all(state_, plan); }

  template <class CompletionToken>
  auto async_stop(stop_plan plan, CompletionToken&& token) & {
    return async_run(state_->strand, stop(plan), std::forward<CompletionToken>(token));
  }

  /// Kills every process now. A stop in progress then waits neither for its grace period nor for a
  /// blocked console, and for a file that hangs only `limits::file_after_stop`.
  ELASTIC_DECL void kill();

  /// Kills one process now, if it runs. A stop in progress still waits for its output.
  ELASTIC_DECL void kill(std::size_t index);

  /// Clears a slot: kills the descendants (and the process, if it runs), and waits until they are
  /// gone and the output is copied. It waits at most `limits::drain_after_exit` for an undetected
  /// descendant that holds the pipe open. Then the slot is free. Does nothing if it is already
  /// free.
  ///
  /// Errors: that of a custom launcher's `end_tree`; `errc::process_stuck` as for `stop`, also for
  /// a descendant; the slot is still freed.
  /// Cancellation: all types; throws `operation_aborted`, and the clearing continues.
  task<void> clear(std::size_t index) & { return clear_in(state_, index); }

  template <class CompletionToken>
  auto async_clear(std::size_t index, CompletionToken&& token) & {
    return async_run(state_->strand, clear(index), std::forward<CompletionToken>(token));
  }

  /// How many processes run.
  std::size_t running() const { return state_->running; }

  /// The number of processes that are being started.
  std::size_t starting() const { return state_->starting.size(); }

  /// The process started last in a slot; 0 if none was.
  ELASTIC_DECL pid_t pid(std::size_t index) const;

  /// How many bytes of output of the process in a slot were copied; 0 if none runs there.
  ELASTIC_DECL std::uint64_t copied(std::size_t index) const;

  /// The last stderr lines of the process started last in a slot, if its plan set `keep_tail`;
  /// complete once the slot is cleared.
  ELASTIC_DECL std::vector<std::string> tail(std::size_t index) const;

  /// The same as `tail`, callable from any thread: it reads a file if the process itself wrote to
  /// one.
  ELASTIC_DECL std::function<std::vector<std::string>()> tail_reader(std::size_t index) const;

  /// Writes one line about each process of the set, for humans: whether it runs or is being started
  /// and for how long, the signal that it was sent, and what a slot that is being cleared waits
  /// for. The format may change.
  /// Errors: those of the stream.
  ELASTIC_DECL void dump(std::ostream& out) const;

 private:
  friend detail::internals;
  using slot_pointer = std::shared_ptr<detail::process_slot>;

  // Shared with background coroutines, which may briefly outlive the set.
  struct state {
    ELASTIC_DECL state(asio::any_io_executor executor, services parts);

    asio::any_io_executor strand;
    process_set::services services;
    std::vector<slot_pointer> slots;
    std::deque<process_end> ends;
    std::size_t running = 0;
    /// By slot: the signals to send to processes that are still being started.
    std::map<std::size_t, std::vector<int>> starting;
    /// By slot: when the start began.
    std::map<std::size_t, time_point> starting_since;
    bool stop_waiting = false;
    bool abandoned = false;
    std::optional<std::pair<stop_plan, detail::stop_ladder>> begun;
    event_flag end_noted;
    /// Wakes a stop in progress: nothing runs any more, or `kill` ended the wait.
    event_flag progress;
  };
  using state_pointer = std::shared_ptr<state>;
  ELASTIC_DECL static slot_pointer find(const state& self, std::size_t index);

  // The source of `tail`, with its place in the stream; empty if the process itself wrote to a
  // file.
  ELASTIC_DECL detail::line_tail kept(std::size_t index) const;
  ELASTIC_DECL static void signal_all(state& self, int number);

  // Sends a request to end, and notes which processes received it.
  ELASTIC_DECL static void ask_all(state& self, int number, detail::stop_step::target whom);
  ELASTIC_DECL static void ask(detail::process_slot& whom, int number,
                               detail::stop_step::target which, time_point now);
  ELASTIC_DECL static void abandon(state& self) noexcept;
  ELASTIC_DECL static void require_free(const state& self, std::size_t index);
  ELASTIC_DECL static task<void> start_in(state_pointer self, std::size_t index, process plan);
  ELASTIC_DECL static task<detail::opened_stream> open(const services& parts, output_plan plan);

  // Waits for the end of one process and notes it.
  ELASTIC_DECL static task<void> watch(state_pointer self, slot_pointer slot);
  ELASTIC_DECL static task<process_end> next_end_of(state_pointer self);

  [[noreturn]] ELASTIC_DECL static void throw_aborted();
  ELASTIC_DECL static void carry_out(state& self, const detail::stop_step& step);
  ELASTIC_DECL static detail::stop_ladder new_ladder(const state& self, stop_plan plan);

  // Logs why killed processes have not ended, and abandons those that make no progress.
  ELASTIC_DECL static void look_at_killed(state& self);
  ELASTIC_DECL static task<void> stop_all(state_pointer self, stop_plan plan);
  ELASTIC_DECL static void begin_clearing_all(state& self);
  ELASTIC_DECL static task<void> all_cleared(state_pointer self);
  ELASTIC_DECL static task<void> clear_in(state_pointer self, std::size_t index);

  // Runs in the background, so that a caller can stop waiting and two callers can wait.
  ELASTIC_DECL static void begin_clearing(state& self, const slot_pointer& slot);

  // Ends the rest of a tree, or abandons it if none of its processes makes progress.
  ELASTIC_DECL static task<void> end_tree(slot_pointer slot, services parts);
  ELASTIC_DECL static void log_killed(const detail::process_slot& slot, const logger& log);
  ELASTIC_DECL static task<void> clear_slot(slot_pointer slot, services parts);

  state_pointer state_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/process_set.ipp>
#endif
