// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/assert.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/console_writer.hpp>
#include <elastic/process/detail/process_slot.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/pidfd_launcher.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_sight.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/process/stdio.hpp>
#include <elastic/process/stop_ladder.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// A process together with the places where its output goes.
struct supervised_process {
  /// Its stdout and stderr descriptors are ignored: `out` and `err` say where they go.
  process_spec process;
  output_plan out;
  output_plan err;
  /// Its stdin has nothing to read; else it is what `process` says.
  bool has_empty_input = false;
};

/// How and when a process of a set ended.
struct process_end {
  std::size_t index;
  pid_t pid;
  exit_status status;
  time_point at;
  wall_time wall;
  /// Whether the set had asked it to end, or killed it, before it ended.
  bool was_stopped = false;
};

/// What a `process_set` works with.
struct process_set_services {
  /// Null: a `pidfd_launcher` on the set's strand.
  std::shared_ptr<process_launcher> launcher{};
  /// Null: `system_time`.
  std::shared_ptr<time_source> time{};
  /// Default: silent.
  logger log{};
  /// Where copied output is shown; null: nowhere.
  std::shared_ptr<output_sink> console_out{};
  std::shared_ptr<output_sink> console_err{};
  /// Told of each end the moment it is seen (not before `start` has returned), in the place of
  /// `next_end` and `take_ends`, which then tell nothing. Must not throw, nor destroy the set.
  std::function<void(const process_end&)> on_end{};
  /// How long the kernel has to end a process that was killed before each look at it.
  duration killed_patience = limits::killed_patience;
  /// How that look is taken; nothing: the process has ended meanwhile.
  std::function<std::optional<process_sight>(pid_t)> look = look_at_process;
};

/// Several processes as one: started one by one, watched together, stopped together. Each has a
/// place in the set, its index, which can be used again after `clear`.
///
///     process_set workers(strand, services);
///     for (std::size_t i = 0; i < count; ++i) co_await workers.start(i, worker);
///     for (;;) {                                   // restarts whoever ends
///       process_end end = co_await workers.next_end();
///       co_await workers.clear(end.index);
///       co_await workers.start(end.index, worker);
///     }
///
/// Everything that it runs in the background has ended when `stop` returns. Its destructor waits
/// for nothing: it kills what still runs. Nobody may wait for one of its members then.
/// Thread-safety: one strand at a time, the one it was given.
class process_set {
 public:
  explicit process_set(asio::any_io_executor strand, process_set_services services = {})
      : state_(std::make_shared<state>(std::move(strand), std::move(services))) {}
  process_set(const process_set&) = delete;
  process_set& operator=(const process_set&) = delete;
  ~process_set() { abandon(*state_); }

  /// Starts a process at the place `index`, which must be free: never used, or cleared.
  ///
  /// Errors: those of the launcher; `errc::file_access` (a log file) and `errc::start_failed` (a
  /// pipe) for its output. The place is free then.
  /// Cancellation: all types; either nothing was started or the process runs.
  task<void> start(std::size_t index, const supervised_process& what) & {
    return start_in(state_, index, what);
  }
  /// Name the argument first: g++ 12 destroys a braced one twice within a `co_await`.
  task<void> start(std::size_t index, supervised_process&& what) & = delete;

  /// The end of a process that was not told yet, the earliest first; waits for one where there is
  /// none. It is told at once: the process's descendants and its output may not have ended (see
  /// `clear`).
  ///
  /// Cancellation: all types; throws `operation_aborted`, no end is lost. One waiter at a time.
  task<process_end> next_end() & { return next_end_of(state_); }

  /// The ends that were not told yet, in the order of time.
  std::vector<process_end> take_ends() {
    std::vector<process_end> ends(state_->ends.begin(), state_->ends.end());
    state_->ends.clear();
    return ends;
  }

  /// Sends a signal to every process that runs, and its process group.
  void signal(int number) { signal_all(*state_, number); }

  /// The same for one place; nothing where no process runs.
  void signal(std::size_t index, int number) {
    const auto place = find(*state_, index);
    if (place && place->running()) place->process->signal(number);
  }

  /// Takes the first step of a stop, the plan's signal to each process, and returns. To be followed
  /// by `stop` with the same plan, which goes on from there.
  void begin_stop(stop_plan plan) {
    stop_ladder& ladder = state_->begun.emplace(plan, new_ladder(*state_, plan)).second;
    const stop_step step =
        ladder.next(state_->running, state_->services.time->now(), state_->hurry);
    if (step.what == stop_step::action::send) carry_out(*state_, step);
  }

  /// Stops all: the plan's signal to each at once, one grace for all, SIGKILL for who is left;
  /// then clears every place. When it returns, nothing runs and all output is written, except
  /// what a console did not take within the grace (`limits::console_after_stop` at least). The
  /// ends stay to be told by `next_end` and `take_ends`.
  ///
  /// Errors: the first one of a custom launcher's `end_tree`, after everything else is done;
  /// `errc::process_stuck`, naming the process and where in the kernel it waits, for one that was
  /// killed and in which nothing has gone on for `killed_patience`: it is left to the kernel, and
  /// its place is free.
  /// Cancellation: all types; throws `operation_aborted` with the stop half done; call it again.
  /// One caller at a time.
  task<void> stop(stop_plan plan) & { return stop_all(state_, plan); }

  /// Kills every process now. A stop under way no longer waits, neither for a grace nor for a
  /// console that does not take what is to be shown.
  void kill() {
    state_->hurry = true;
    ask_all(*state_, SIGKILL);
    for (const auto& place : state_->places) {
      if (place) place->hurry();
    }
    state_->progress.set();
  }

  /// Ends what is left at a place: kills the descendants (and the process, if it runs), waits until
  /// they are gone and its output is copied, at most `limits::drain_after_exit` for a descendant
  /// that could not be found and holds the pipe. The place is free then. Does nothing where it is
  /// free already.
  ///
  /// Errors: that of a custom launcher's `end_tree`; `errc::process_stuck` as for `stop`, also for
  /// a descendant; the place is free all the same.
  /// Cancellation: all types; throws `operation_aborted`, and the clearing goes on.
  task<void> clear(std::size_t index) & { return clear_in(state_, index); }

  /// How many processes run.
  std::size_t running() const { return state_->running; }

  /// The process started last at a place; 0 where none was.
  pid_t pid(std::size_t index) const {
    const auto place = find(*state_, index);
    return place ? place->pid : 0;
  }

  /// The last lines of stderr of the process started last at a place, where its plan said
  /// `keep_tail`; complete once the place is cleared.
  std::vector<std::string> tail(std::size_t index) const {
    const auto place = find(*state_, index);
    return place ? place->tail() : std::vector<std::string>();
  }

 private:
  using place_pointer = std::shared_ptr<detail::process_slot>;

  // Shared with the coroutines in the background, which may outlive the set by a moment.
  struct state {
    state(asio::any_io_executor executor, process_set_services parts)
        : strand(std::move(executor)),
          services(std::move(parts)),
          end_noted(strand),
          progress(strand) {
      if (!services.launcher) services.launcher = std::make_shared<pidfd_launcher>(strand);
      if (!services.time) services.time = std::make_shared<system_time>();
    }

    asio::any_io_executor strand;
    process_set_services services;
    std::vector<place_pointer> places;
    std::deque<process_end> ends;
    std::size_t running = 0;
    bool hurry = false;
    bool abandoned = false;
    std::optional<std::pair<stop_plan, stop_ladder>> begun;
    event_flag end_noted;
    /// Set where a stop under way should look again: nothing runs, or nobody wants to wait.
    event_flag progress;
  };
  using state_pointer = std::shared_ptr<state>;

  static place_pointer find(const state& all, std::size_t index) {
    return index < all.places.size() ? all.places[index] : nullptr;
  }

  static void signal_all(state& all, int number) {
    for (const auto& place : all.places) {
      if (place && place->running()) place->process->signal(number);
    }
  }

  // The same for a request to end.
  static void ask_all(state& all, int number) {
    for (const auto& place : all.places) {
      if (place && place->running() && place->process->signal(number)) place->was_stopped = true;
    }
  }

  static void abandon(state& all) noexcept {
    all.abandoned = true;
    for (const auto& place : all.places) {
      if (place) place->abandon();
    }
    all.places.clear();
  }

  static task<void> start_in(state_pointer all, std::size_t index, supervised_process what) {
    if (all->places.size() <= index) all->places.resize(index + 1);
    ELASTIC_ASSERT(!all->places[index] || all->places[index]->is_free());
    all->hurry = false;
    all->begun.reset();

    const process_set_services& services = all->services;
    detail::opened_stream out = detail::open_stream(what.out);
    detail::opened_stream err = detail::open_stream(what.err);
    const detail::unique_fd out_end = std::move(out.process_end);
    const detail::unique_fd err_end = std::move(err.process_end);
    what.process.stdout_fd = out_end.get();
    what.process.stderr_fd = err_end.get();
    detail::unique_fd input;
    if (what.has_empty_input) {
      input = detail::open_null(detail::real_syscalls);
      what.process.stdin_fd = input.get();
    }
    const auto place = std::make_shared<detail::process_slot>(all->strand, index);
    place->out = place->make_tee(what.out, std::move(out), services.console_out, services.time,
                                 services.log);
    place->err = place->make_tee(what.err, std::move(err), services.console_err, services.time,
                                 services.log);
    if (what.err.kind == output_plan::how::file && what.err.keep_tail) {
      place->tail_file = what.err.file;
    }

    std::unique_ptr<child> started = co_await services.launcher->launch(std::move(what.process));
    if (all->abandoned) throw_aborted();
    place->begin(std::move(started));
    all->places[index] = place;
    ++all->running;
    place->run(watch(all, place), place->cancel_watch, [](const std::exception_ptr&) {});
  }

  // Waits for the end of one process and notes it.
  static task<void> watch(state_pointer all, place_pointer place) {
    exit_status status = exit_status::unknown();
    try {
      // One that has ended already is told of when its starter knows of it.
      co_await asio::post(all->strand, asio::use_awaitable);
      status = co_await place->process->wait();
    } catch (const std::exception& failure) {
      all->services.log.debug("process {} cannot be waited for: {}", place->pid, failure.what());
    }
    place->ended.set();
    if (place->abandoned) co_return;
    const time_source& time = *all->services.time;
    process_end end{place->index, place->pid, status, time.now(), time.wall_now()};
    end.was_stopped = place->was_stopped;
    --all->running;
    if (all->running == 0) all->progress.set();
    if (all->services.on_end) {
      [&]() noexcept { all->services.on_end(end); }();
    } else {
      all->ends.push_back(end);
      all->end_noted.set();
    }
  }

  static task<process_end> next_end_of(state_pointer all) {
    while (all->ends.empty()) {
      all->end_noted.reset();
      co_await all->end_noted.wait();
    }
    const process_end end = all->ends.front();
    all->ends.pop_front();
    co_return end;
  }

  [[noreturn]] static void throw_aborted() {
    throw std::system_error(make_error_code(asio::error::operation_aborted));
  }

  static void carry_out(state& all, const stop_step& step) {
    ask_all(all, step.signal);
    // One that is stopped would sleep through the question.
    if (step.signal != SIGKILL) signal_all(all, SIGCONT);
    all.services.log.debug("{} sent to {} processes: {}", signal_name(step.signal), all.running,
                           step.reason);
  }

  static stop_ladder new_ladder(const state& all, stop_plan plan) {
    return stop_ladder(plan, all.services.killed_patience);
  }

  // Says what holds up those that were killed, and gives up those in which nothing goes on.
  static void look_at_killed(state& all) {
    const std::vector<place_pointer> places = all.places;
    for (const auto& place : places) {
      if (!place || !place->running()) continue;
      const auto sight = all.services.look(place->pid);
      if (!sight) continue;
      const std::string text =
          fmt::format("process {} was killed and has not ended: it is {}", place->pid,
                      sight->text());
      if (place->sight && is_stuck(*place->sight, *sight)) {
        place->give_up(text);
      } else {
        all.services.log.warning("{}", text);
      }
      place->sight = sight;
    }
  }

  static task<void> stop_all(state_pointer all, stop_plan plan) {
    time_source& time = *all->services.time;
    const time_point patience_ends = later(time.now(), plan.grace);
    const auto begun = std::exchange(all->begun, std::nullopt);
    stop_ladder ladder = begun && begun->first == plan ? begun->second : new_ladder(*all, plan);
    for (;;) {
      all->progress.reset();
      const stop_step step = ladder.next(all->running, time.now(), all->hurry);
      if (step.what == stop_step::action::done) break;
      if (step.what == stop_step::action::send) {
        carry_out(*all, step);
      } else if (step.what == stop_step::action::look) {
        look_at_killed(*all);
      } else {
        co_await with_deadline(time, step.until, all->progress.wait());
      }
    }
    begin_clearing_all(*all);
    const time_point give_up =
        std::max(patience_ends, later(time.now(), limits::console_after_stop));
    if (co_await with_deadline(time, give_up, all_cleared(all))) co_return;
    for (const auto& place : all->places) {
      if (place) place->hurry();
    }
    co_await all_cleared(all);
  }

  static time_point later(time_point now, duration how_much) {
    return how_much < time_point::max() - now ? now + how_much : time_point::max();
  }

  static void begin_clearing_all(state& all) {
    const std::vector<place_pointer> places = all.places;
    for (const auto& place : places) {
      if (place) begin_clearing(all, place);
    }
  }

  static task<void> all_cleared(state_pointer all) {
    const std::vector<place_pointer> places = all->places;
    for (const auto& place : places) {
      if (place) co_await place->cleared.wait();
    }
    std::exception_ptr failure;
    for (const auto& place : places) {
      if (place && !failure) failure = std::exchange(place->clear_failure, nullptr);
    }
    if (failure) std::rethrow_exception(failure);
  }

  static task<void> clear_in(state_pointer all, std::size_t index) {
    const place_pointer place = find(*all, index);
    if (!place) co_return;
    begin_clearing(*all, place);
    co_await place->cleared.wait();
    if (const auto failure = std::exchange(place->clear_failure, nullptr)) {
      std::rethrow_exception(failure);
    }
  }

  // In the background, so that who waits for it may stop waiting, and two may wait.
  static void begin_clearing(state& all, const place_pointer& place) {
    if (std::exchange(place->clearing, true)) return;
    if (place->running()) place->was_stopped = true;
    place->run(clear_place(place, all.services), place->cancel_clear,
               [place](const std::exception_ptr& failure) {
                 if (!place->clear_failure) place->clear_failure = failure;
                 place->release();
               });
  }

  // Ends what is left of a tree, or gives it up where nothing goes on in any of its processes.
  static task<void> end_tree(place_pointer place, process_set_services services) {
    time_source& time = *services.time;
    std::map<pid_t, process_sight> before;
    for (;;) {
      const time_point patience_ends = later(time.now(), services.killed_patience);
      if (co_await with_deadline(time, patience_ends, place->process->end_tree())) co_return;
      std::string held_up;
      bool all_stuck = true;
      for (const pid_t pid : place->process->left()) {
        const auto sight = services.look(pid);
        if (!sight) continue;
        const auto known = before.find(pid);
        all_stuck = all_stuck && known != before.end() && is_stuck(known->second, *sight);
        before[pid] = *sight;
        held_up += fmt::format("{}process {} is {}", held_up.empty() ? "" : ", ", pid,
                               sight->text());
      }
      if (held_up.empty()) continue;
      const std::string text = fmt::format(
          "what worker {} left behind was killed and has not ended: {}", place->pid, held_up);
      if (all_stuck) throw error(errc::process_stuck, text);
      services.log.warning("{}", text);
    }
  }

  static task<void> clear_place(place_pointer place, process_set_services services) {
    try {
      if (!place->given_up) co_await end_tree(place, services);
    } catch (...) {
      if (!place->clear_failure) place->clear_failure = std::current_exception();
      // Whatever it still does, the place waits for it no longer.
      place->cancel_watch.emit(asio::cancellation_type::terminal);
    }
    co_await place->ended.wait();
    co_await place->drain(services.time);
  }

  state_pointer state_;
};

}  // namespace elastic
