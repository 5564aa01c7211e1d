// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/process_set.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/seconds_text.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/file_tail.hpp>
#include <elastic/process/detail/signal_number.hpp>
#include <elastic/process/pidfd_launcher.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <ostream>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL process_set::process_set(asio::any_io_executor strand)
    : process_set(std::move(strand), services()) {}

ELASTIC_DECL process_set::process_set(asio::any_io_executor strand, services parts)
    : state_(detail::new_shared<state>(std::move(strand), std::move(parts))) {}

ELASTIC_DECL task<void> process_set::start(std::size_t index, named<process_set::process> plan) & {
  return start_in(state_, index, plan);
}

ELASTIC_DECL std::vector<process_set::process_end> process_set::take_ends() {
  std::vector<process_set::process_end> ends(state_->ends.begin(), state_->ends.end());
  state_->ends.clear();
  return ends;
}

namespace detail {

/// Marks the process of a slot as being started, and collects the signals sent to it meanwhile.
class start_under_way {
 public:
  using signals = std::map<std::size_t, std::vector<int>>;

  using times = std::map<std::size_t, time_point>;

  start_under_way(signals& noted, times& since, std::size_t index, time_point now)
      : noted_(noted), since_(since), index_(index) {
    noted_[index_];
    since_[index_] = now;
  }
  ~start_under_way() {
    noted_.erase(index_);
    since_.erase(index_);
  }
  start_under_way(const start_under_way&) = delete;
  start_under_way& operator=(const start_under_way&) = delete;

  void deliver(child& started) const {
    for (const int number : noted_[index_]) started.signal(number);
  }

 private:
  signals& noted_;
  times& since_;
  std::size_t index_;
};

}  // namespace detail

ELASTIC_DECL void process_set::signal(int number) {
  detail::require_signal(number, "process_set::signal");
  signal_all(*state_, number);
  for (auto& [index, signals] : state_->starting) signals.push_back(number);
}

ELASTIC_DECL void process_set::signal(std::size_t index, int number) {
  detail::require_signal(number, "process_set::signal");
  const auto slot = find(*state_, index);
  if (slot && slot->running()) slot->process->signal(number);
}

ELASTIC_DECL void process_set::begin_stop(stop_plan plan) {
  detail::require_signal(plan.signal, "stop_plan::signal");
  detail::stop_ladder& ladder = state_->begun.emplace(plan, new_ladder(*state_, plan)).second;
  const detail::stop_step step =
      ladder.next(state_->running, state_->services.time->now(), state_->stop_waiting);
  if (step.what == detail::stop_step::action::send) carry_out(*state_, step);
}

ELASTIC_DECL void process_set::kill() {
  state_->stop_waiting = true;
  ask_all(*state_, SIGKILL, detail::stop_step::target::group);
  for (const auto& slot : state_->slots) {
    if (!slot) continue;
    slot->stop_waiting();
    // Processes that it left behind must no longer linger.
    if (slot->process && !slot->running()) slot->process->signal(SIGKILL);
  }
  state_->progress.set();
}

ELASTIC_DECL void process_set::kill(std::size_t index) {
  const auto slot = find(*state_, index);
  if (slot && slot->running()) {
    ask(*slot, SIGKILL, detail::stop_step::target::group, state_->services.time->now());
  }
}

ELASTIC_DECL pid_t process_set::pid(std::size_t index) const {
  const auto slot = find(*state_, index);
  return slot ? slot->pid : 0;
}

ELASTIC_DECL std::uint64_t process_set::copied(std::size_t index) const {
  const slot_pointer slot = find(*state_, index);
  if (!slot) return 0;
  return (slot->out ? slot->out->copied() : 0) + (slot->err ? slot->err->copied() : 0);
}

ELASTIC_DECL std::vector<std::string> process_set::tail(std::size_t index) const {
  const auto slot = find(*state_, index);
  return slot ? slot->tail() : std::vector<std::string>();
}

ELASTIC_DECL std::function<std::vector<std::string>()> process_set::tail_reader(
    std::size_t index) const {
  const auto slot = find(*state_, index);
  if (slot && !slot->tail_file.empty()) {
    return [path = slot->tail_file] { return detail::read_file_tail(path); };
  }
  return [lines = tail(index)] { return lines; };
}

ELASTIC_DECL detail::line_tail process_set::kept(std::size_t index) const {
  const auto slot = find(*state_, index);
  return slot ? slot->kept() : detail::line_tail();
}

ELASTIC_DECL void process_set::dump(std::ostream& out) const {
  const time_point now = state_->services.time->now();
  std::string text =
      fmt::format("process_set: {} running, {} being started\n", running(), starting());
  for (const auto& [index, since] : state_->starting_since) {
    text += fmt::format("  slot {}: is being started for {}\n", index,
                        detail::seconds_text(now - since));
  }
  for (const slot_pointer& slot : state_->slots) {
    if (!slot || slot->is_free() || state_->starting.contains(slot->index)) continue;
    text += fmt::format("  slot {}: {}\n", slot->index, slot->text(now));
  }
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

ELASTIC_DECL process_set::state::state(asio::any_io_executor executor, process_set::services parts)
    : strand(std::move(executor)), services(std::move(parts)), end_noted(strand), progress(strand) {
  if (!services.launcher) services.launcher = detail::new_shared<pidfd_launcher>(strand);
  if (!services.time) services.time = detail::new_shared<system_time>();
}

ELASTIC_DECL auto process_set::find(const state& self, std::size_t index) -> slot_pointer {
  return index < self.slots.size() ? self.slots[index] : nullptr;
}

ELASTIC_DECL void process_set::signal_all(state& self, int number) {
  for (const auto& slot : self.slots) {
    if (slot && slot->running()) slot->process->signal(number);
  }
}

ELASTIC_DECL void process_set::ask_all(state& self, int number, detail::stop_step::target whom) {
  const time_point now = self.services.time->now();
  for (const auto& slot : self.slots) {
    if (slot && slot->running()) ask(*slot, number, whom, now);
  }
}

ELASTIC_DECL void process_set::ask(detail::process_slot& whom, int number,
                                   detail::stop_step::target which, time_point now) {
  using target = detail::stop_step::target;
  child& process = *whom.process;
  if (which == target::others) {
    process.signal_others(number);
    return;
  }
  whom.asked = {number, now};
  if (which == target::process ? process.signal_process(number) : process.signal(number)) {
    whom.was_stopped = true;
  }
}

ELASTIC_DECL void process_set::abandon(state& self) noexcept {
  self.abandoned = true;
  for (const auto& slot : self.slots) {
    if (slot) slot->abandon();
  }
  self.slots.clear();
  self.end_noted.set();
  self.progress.set();
}

ELASTIC_DECL void process_set::require_free(const state& self, std::size_t index) {
  if (index >= limits::process_slots) {
    throw error(errc::invalid_argument,
                fmt::format("process_set::start: slot {} is given: 0 to {} are allowed", index,
                            limits::process_slots - 1));
  }
  const slot_pointer slot = find(self, index);
  const bool is_starting = self.starting.contains(index);
  if (!is_starting && (!slot || slot->is_free())) return;
  throw error(errc::invalid_argument,
              fmt::format("process_set::start: slot {} has {}; clear it first", index,
                          is_starting ? "a process that is being started"
                                      : fmt::format("process {}", slot->pid)));
}

ELASTIC_DECL task<void> process_set::start_in(state_pointer self, std::size_t index,
                                              process_set::process plan) {
  require_free(*self, index);
  if (self->slots.size() <= index) self->slots.resize(index + 1);
  self->stop_waiting = false;
  self->begun.reset();

  const services& parts = self->services;
  const detail::start_under_way under_way(self->starting, self->starting_since, index,
                                          parts.time->now());
  task<detail::opened_stream> opening_out = open(parts, plan.out);
  detail::opened_stream out = co_await std::move(opening_out);
  task<detail::opened_stream> opening_err = open(parts, plan.err);
  detail::opened_stream err = co_await std::move(opening_err);
  if (self->abandoned) throw_aborted();
  plan.process.stdout_fd = out.process_end.get();
  plan.process.stderr_fd = err.process_end.get();
  detail::unique_fd input;
  if (plan.has_empty_input) {
    input = detail::open_null(detail::real_syscalls);
    plan.process.stdin_fd = input.get();
  }
  const auto slot = detail::new_shared<detail::process_slot>(self->strand, index);
  slot->out = slot->make_tee(plan.out, out, parts.console_out, parts.time, parts.log);
  slot->err = slot->make_tee(plan.err, err, parts.console_err, parts.time, parts.log);
  if (slot->err && plan.err.keep_tail && parts.on_alarm) {
    slot->err->watch_for(parts.alarm_texts, [call = parts.on_alarm, index] { call(index); });
  }
  if (plan.err.kind == output_plan::how::file && plan.err.keep_tail) {
    slot->tail_file = plan.err.file;
  }

  slot->linger = plan.process.linger;
  std::unique_ptr<child> started = co_await parts.launcher->launch(std::move(plan.process));
  if (!started) throw error(errc::start_failed, "the process launcher returned no process");
  if (self->abandoned) throw_aborted();
  slot->begin(std::move(started));
  slot->since = parts.time->now();
  self->slots[index] = slot;
  ++self->running;
  under_way.deliver(*slot->process);
  slot->run(watch(self, slot), slot->cancel_watch, [](const std::exception_ptr&) {});
}

ELASTIC_DECL task<detail::opened_stream> process_set::open(const services& parts,
                                                           output_plan plan) {
  const bool may_hang = !plan.file.empty() && detail::internals::of(parts).may_hang(plan.file);
  return detail::open_stream_on_thread(std::move(plan), detail::real_syscalls, may_hang);
}

ELASTIC_DECL task<void> process_set::watch(state_pointer self, slot_pointer slot) {
  exit_status status = exit_status::unknown();
  try {
    // Yields first, so that an early end is reported only after `start` has returned.
    co_await asio::post(self->strand, asio::use_awaitable);
    status = co_await slot->process->wait();
  } catch (const std::exception& failure) {
    self->services.log.debug("process {} cannot be waited for: {}", slot->pid, failure.what());
  }
  slot->ended.set();
  if (slot->abandoned) co_return;
  const time_source& time = *self->services.time;
  process_set::process_end end{slot->index, slot->pid, status, time.now(), time.wall_now()};
  slot->since = end.time;
  end.was_stopped = slot->was_stopped;
  --self->running;
  if (self->running == 0) self->progress.set();
  if (self->services.on_end) {
    [&]() noexcept { self->services.on_end(end); }();
  } else {
    self->ends.push_back(end);
    self->end_noted.set();
  }
}

ELASTIC_DECL task<process_set::process_end> process_set::next_end_of(state_pointer self) {
  while (self->ends.empty()) {
    self->end_noted.reset();
    co_await self->end_noted.wait();
    if (self->abandoned) throw_aborted();
  }
  const process_set::process_end end = self->ends.front();
  self->ends.pop_front();
  co_return end;
}

ELASTIC_DECL void process_set::throw_aborted() {
  throw detail::asio_system_error(make_error_code(asio::error::operation_aborted));
}

ELASTIC_DECL void process_set::carry_out(state& self, const detail::stop_step& step) {
  const bool is_for_others = step.whom == detail::stop_step::target::others;
  ask_all(self, step.signal, step.whom);
  // A stopped process needs SIGCONT to handle the signal.
  if (is_for_others) {
    ask_all(self, SIGCONT, step.whom);
  } else if (step.signal != SIGKILL) {
    signal_all(self, SIGCONT);
  }
  self.services.log.debug("{} sent to {}{} processes: {}", signal_name(step.signal),
                          is_for_others ? "what was started by " : "", self.running, step.reason);
}

ELASTIC_DECL detail::stop_ladder process_set::new_ladder(const state& self, stop_plan plan) {
  return detail::stop_ladder(plan, self.services.killed_patience);
}

ELASTIC_DECL void process_set::look_at_killed(state& self) {
  const std::vector<slot_pointer> slots = self.slots;
  for (const auto& slot : slots) {
    if (!slot || !slot->running()) continue;
    const auto snapshot = detail::internals::of(self.services).look(slot->pid);
    if (!snapshot) continue;
    const std::string text = fmt::format("process {} was killed and has not ended: it is {}",
                                         slot->pid, snapshot->text());
    if (slot->snapshot && detail::is_stuck(*slot->snapshot, *snapshot)) {
      slot->give_up(text);
    } else {
      self.services.log.warning("{}", text);
    }
    slot->snapshot = snapshot;
  }
}

ELASTIC_DECL task<void> process_set::stop_all(state_pointer self, stop_plan plan) {
  detail::require_signal(plan.signal, "stop_plan::signal");
  time_source& time = *self->services.time;
  const time_point patience_ends = deadline_after(time.now(), plan.grace);
  const auto begun = std::exchange(self->begun, std::nullopt);
  detail::stop_ladder ladder =
      begun && begun->first == plan ? begun->second : new_ladder(*self, plan);
  for (;;) {
    if (self->abandoned) throw_aborted();
    self->progress.reset();
    const detail::stop_step step = ladder.next(self->running, time.now(), self->stop_waiting);
    if (step.what == detail::stop_step::action::done) break;
    if (step.what == detail::stop_step::action::send) {
      carry_out(*self, step);
    } else if (step.what == detail::stop_step::action::look) {
      look_at_killed(*self);
    } else {
      co_await with_deadline(time, step.until, self->progress.wait());
    }
  }
  begin_clearing_all(*self);
  const time_point give_up =
      std::max(patience_ends, deadline_after(time.now(), limits::console_after_stop));
  if (co_await with_deadline(time, give_up, all_cleared(self))) co_return;
  for (const auto& slot : self->slots) {
    if (slot) slot->stop_waiting();
  }
  co_await all_cleared(self);
}

ELASTIC_DECL void process_set::begin_clearing_all(state& self) {
  const std::vector<slot_pointer> slots = self.slots;
  for (const auto& slot : slots) {
    if (slot) begin_clearing(self, slot);
  }
}

ELASTIC_DECL task<void> process_set::all_cleared(state_pointer self) {
  const std::vector<slot_pointer> slots = self->slots;
  for (const auto& slot : slots) {
    if (slot) co_await slot->cleared.wait();
    if (self->abandoned) throw_aborted();
  }
  std::exception_ptr failure;
  for (const auto& slot : slots) {
    if (slot && !failure) failure = std::exchange(slot->clear_failure, nullptr);
  }
  if (failure) std::rethrow_exception(failure);
}

ELASTIC_DECL task<void> process_set::clear_in(state_pointer self, std::size_t index) {
  const slot_pointer slot = find(*self, index);
  if (!slot) co_return;
  begin_clearing(*self, slot);
  co_await slot->cleared.wait();
  if (self->abandoned) throw_aborted();
  if (const auto failure = std::exchange(slot->clear_failure, nullptr)) {
    std::rethrow_exception(failure);
  }
}

ELASTIC_DECL void process_set::begin_clearing(state& self, const slot_pointer& slot) {
  if (std::exchange(slot->clearing, true)) return;
  if (slot->running()) slot->was_stopped = true;
  slot->since = self.services.time->now();
  slot->run(clear_slot(slot, self.services), slot->cancel_clear,
            [slot](const std::exception_ptr& failure) {
              if (!slot->clear_failure) slot->clear_failure = failure;
              slot->release();
            });
}

ELASTIC_DECL task<void> process_set::end_tree(slot_pointer slot, services parts) {
  time_source& time = *parts.time;
  std::map<pid_t, detail::proc_snapshot> before;
  time_point patience_begins = deadline_after(time.now(), slot->linger);
  for (;;) {
    const time_point patience_ends = deadline_after(patience_begins, parts.killed_patience);
    if (co_await with_deadline(time, patience_ends, slot->process->end_tree())) co_return;
    std::string held_up;
    bool all_stuck = true;
    for (const pid_t pid : slot->process->left()) {
      const auto snapshot = detail::internals::of(parts).look(pid);
      if (!snapshot) continue;
      const auto earlier = before.find(pid);
      all_stuck =
          all_stuck && earlier != before.end() && detail::is_stuck(earlier->second, *snapshot);
      before[pid] = *snapshot;
      held_up +=
          fmt::format("{}process {} is {}", held_up.empty() ? "" : ", ", pid, snapshot->text());
    }
    patience_begins = time.now();
    if (held_up.empty()) continue;
    const std::string text = fmt::format(
        "what worker {} left behind was killed and has not ended: {}", slot->pid, held_up);
    if (all_stuck) throw error(errc::process_stuck, text);
    parts.log.warning("{}", text);
  }
}

ELASTIC_DECL void process_set::log_killed(const detail::process_slot& slot, const logger& log) {
  std::string list;
  for (const child::leftover& one : slot.process->killed_leftovers()) {
    if (!list.empty()) list += ", ";
    list += one.pid > 0 ? fmt::format("'{}' (pid {})", one.command, one.pid) : "and others";
  }
  if (list.empty()) return;
  log.info("process {} left processes behind, which were killed: {}", slot.pid, list);
}

ELASTIC_DECL task<void> process_set::clear_slot(slot_pointer slot, services parts) {
  try {
    if (!slot->given_up) co_await end_tree(slot, parts);
    log_killed(*slot, parts.log);
  } catch (...) {
    if (!slot->clear_failure) slot->clear_failure = std::current_exception();
    // The slot no longer waits for this process, whatever it still does.
    slot->cancel_watch.emit(asio::cancellation_type::terminal);
  }
  co_await slot->ended.wait();
  co_await slot->drain(parts.time);
}

}  // namespace elastic
