// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/process_set.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/assert.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/pidfd_launcher.hpp>

#include <algorithm>
#include <exception>
#include <map>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL process_set::process_set(asio::any_io_executor strand, process_set_services services)
    : state_(std::make_shared<state>(std::move(strand), std::move(services))) {}

ELASTIC_DECL task<void> process_set::start(std::size_t index, const supervised_process& what) & {
  return start_in(state_, index, what);
}

ELASTIC_DECL std::vector<process_end> process_set::take_ends() {
  std::vector<process_end> ends(state_->ends.begin(), state_->ends.end());
  state_->ends.clear();
  return ends;
}

ELASTIC_DECL void process_set::signal(std::size_t index, int number) {
  const auto place = find(*state_, index);
  if (place && place->running()) place->process->signal(number);
}

ELASTIC_DECL void process_set::begin_stop(stop_plan plan) {
  detail::stop_ladder& ladder = state_->begun.emplace(plan, new_ladder(*state_, plan)).second;
  const detail::stop_step step =
      ladder.next(state_->running, state_->services.time->now(), state_->hurry);
  if (step.what == detail::stop_step::action::send) carry_out(*state_, step);
}

ELASTIC_DECL void process_set::kill() {
  state_->hurry = true;
  ask_all(*state_, SIGKILL);
  for (const auto& place : state_->places) {
    if (place) place->hurry();
  }
  state_->progress.set();
}

ELASTIC_DECL pid_t process_set::pid(std::size_t index) const {
  const auto place = find(*state_, index);
  return place ? place->pid : 0;
}

ELASTIC_DECL std::vector<std::string> process_set::tail(std::size_t index) const {
  const auto place = find(*state_, index);
  return place ? place->tail() : std::vector<std::string>();
}

ELASTIC_DECL process_set::state::state(asio::any_io_executor executor, process_set_services parts)
    : strand(std::move(executor)), services(std::move(parts)), end_noted(strand), progress(strand) {
  if (!services.launcher) services.launcher = std::make_shared<pidfd_launcher>(strand);
  if (!services.time) services.time = std::make_shared<system_time>();
}

ELASTIC_DECL auto process_set::find(const state& all, std::size_t index) -> place_pointer {
  return index < all.places.size() ? all.places[index] : nullptr;
}

ELASTIC_DECL void process_set::signal_all(state& all, int number) {
  for (const auto& place : all.places) {
    if (place && place->running()) place->process->signal(number);
  }
}

ELASTIC_DECL void process_set::ask_all(state& all, int number) {
  for (const auto& place : all.places) {
    if (place && place->running() && place->process->signal(number)) place->was_stopped = true;
  }
}

ELASTIC_DECL void process_set::abandon(state& all) noexcept {
  all.abandoned = true;
  for (const auto& place : all.places) {
    if (place) place->abandon();
  }
  all.places.clear();
}

ELASTIC_DECL task<void> process_set::start_in(state_pointer all, std::size_t index,
                                              supervised_process what) {
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
  place->out =
      place->make_tee(what.out, std::move(out), services.console_out, services.time, services.log);
  place->err =
      place->make_tee(what.err, std::move(err), services.console_err, services.time, services.log);
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

ELASTIC_DECL task<void> process_set::watch(state_pointer all, place_pointer place) {
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

ELASTIC_DECL task<process_end> process_set::next_end_of(state_pointer all) {
  while (all->ends.empty()) {
    all->end_noted.reset();
    co_await all->end_noted.wait();
  }
  const process_end end = all->ends.front();
  all->ends.pop_front();
  co_return end;
}

ELASTIC_DECL void process_set::throw_aborted() {
  throw std::system_error(make_error_code(asio::error::operation_aborted));
}

ELASTIC_DECL void process_set::carry_out(state& all, const detail::stop_step& step) {
  ask_all(all, step.signal);
  // One that is stopped would sleep through the question.
  if (step.signal != SIGKILL) signal_all(all, SIGCONT);
  all.services.log.debug("{} sent to {} processes: {}", signal_name(step.signal), all.running,
                         step.reason);
}

ELASTIC_DECL detail::stop_ladder process_set::new_ladder(const state& all, stop_plan plan) {
  return detail::stop_ladder(plan, all.services.killed_patience);
}

ELASTIC_DECL void process_set::look_at_killed(state& all) {
  const std::vector<place_pointer> places = all.places;
  for (const auto& place : places) {
    if (!place || !place->running()) continue;
    const auto sight = all.services.look(place->pid);
    if (!sight) continue;
    const std::string text =
        fmt::format("process {} was killed and has not ended: it is {}", place->pid, sight->text());
    if (place->sight && detail::is_stuck(*place->sight, *sight)) {
      place->give_up(text);
    } else {
      all.services.log.warning("{}", text);
    }
    place->sight = sight;
  }
}

ELASTIC_DECL task<void> process_set::stop_all(state_pointer all, stop_plan plan) {
  time_source& time = *all->services.time;
  const time_point patience_ends = deadline_after(time.now(), plan.grace);
  const auto begun = std::exchange(all->begun, std::nullopt);
  detail::stop_ladder ladder =
      begun && begun->first == plan ? begun->second : new_ladder(*all, plan);
  for (;;) {
    all->progress.reset();
    const detail::stop_step step = ladder.next(all->running, time.now(), all->hurry);
    if (step.what == detail::stop_step::action::done) break;
    if (step.what == detail::stop_step::action::send) {
      carry_out(*all, step);
    } else if (step.what == detail::stop_step::action::look) {
      look_at_killed(*all);
    } else {
      co_await with_deadline(time, step.until, all->progress.wait());
    }
  }
  begin_clearing_all(*all);
  const time_point give_up =
      std::max(patience_ends, deadline_after(time.now(), limits::console_after_stop));
  if (co_await with_deadline(time, give_up, all_cleared(all))) co_return;
  for (const auto& place : all->places) {
    if (place) place->hurry();
  }
  co_await all_cleared(all);
}

ELASTIC_DECL void process_set::begin_clearing_all(state& all) {
  const std::vector<place_pointer> places = all.places;
  for (const auto& place : places) {
    if (place) begin_clearing(all, place);
  }
}

ELASTIC_DECL task<void> process_set::all_cleared(state_pointer all) {
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

ELASTIC_DECL task<void> process_set::clear_in(state_pointer all, std::size_t index) {
  const place_pointer place = find(*all, index);
  if (!place) co_return;
  begin_clearing(*all, place);
  co_await place->cleared.wait();
  if (const auto failure = std::exchange(place->clear_failure, nullptr)) {
    std::rethrow_exception(failure);
  }
}

ELASTIC_DECL void process_set::begin_clearing(state& all, const place_pointer& place) {
  if (std::exchange(place->clearing, true)) return;
  if (place->running()) place->was_stopped = true;
  place->run(clear_place(place, all.services), place->cancel_clear,
             [place](const std::exception_ptr& failure) {
               if (!place->clear_failure) place->clear_failure = failure;
               place->release();
             });
}

ELASTIC_DECL task<void> process_set::end_tree(place_pointer place, process_set_services services) {
  time_source& time = *services.time;
  std::map<pid_t, detail::proc_snapshot> before;
  for (;;) {
    const time_point patience_ends = deadline_after(time.now(), services.killed_patience);
    if (co_await with_deadline(time, patience_ends, place->process->end_tree())) co_return;
    std::string held_up;
    bool all_stuck = true;
    for (const pid_t pid : place->process->left()) {
      const auto sight = services.look(pid);
      if (!sight) continue;
      const auto known = before.find(pid);
      all_stuck = all_stuck && known != before.end() && detail::is_stuck(known->second, *sight);
      before[pid] = *sight;
      held_up += fmt::format("{}process {} is {}", held_up.empty() ? "" : ", ", pid, sight->text());
    }
    if (held_up.empty()) continue;
    const std::string text = fmt::format(
        "what worker {} left behind was killed and has not ended: {}", place->pid, held_up);
    if (all_stuck) throw error(errc::process_stuck, text);
    services.log.warning("{}", text);
  }
}

ELASTIC_DECL task<void> process_set::clear_place(place_pointer place,
                                                 process_set_services services) {
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

}  // namespace elastic
