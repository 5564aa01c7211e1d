// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/chaos/chaos_schedule.hpp>

#include <elastic/cli/detail/chaos_text.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace elasticrun {

namespace {

/// A slow worker runs for 10 ms of each 100 ms.
constexpr std::chrono::milliseconds slow_stopped{90};
constexpr std::chrono::milliseconds slow_running{10};

}  // namespace

chaos_schedule::chaos_schedule(const chaos_plan& plan)
    : noise_(plan.noise), random_(plan.noise ? plan.noise->seed : 0) {
  for (const chaos_plan::fault& fault : plan.faults) {
    add(fault, static_cast<std::uint64_t>(fault.number), false);
  }
  if (noise_) add_random();
}

std::optional<chaos_step> chaos_schedule::next() {
  const auto position = std::min_element(
      entries_.begin(), entries_.end(),
      [](const entry& left, const entry& right) { return left.step.time < right.step.time; });
  if (position == entries_.end()) return std::nullopt;
  const entry first = std::move(*position);
  entries_.erase(position);
  if (first.slow_end > elastic::duration::zero()) add_turn(first);
  // A plan with random faults always has another step.
  if (noise_ && first.step.is_any_rank && first.step.time == random_time_ &&
      !first.step.fault.empty()) {
    add_random();
  }
  return first.step;
}

void chaos_schedule::add(const chaos_plan::fault& fault, std::uint64_t number, bool is_any_rank) {
  entry begin;
  begin.step.time = fault.start;
  begin.step.target = fault.scope;
  begin.step.number = number;
  begin.step.is_any_rank = is_any_rank;
  begin.step.signal = fault.what == chaos_plan::fault::kind::kill ? SIGKILL : SIGSTOP;
  begin.step.fault = is_any_rank ? "random" : elastic::detail::to_text(fault);
  const elastic::duration end = fault.start + fault.span;
  const bool is_cut = fault.what == chaos_plan::fault::kind::cut;
  if (fault.what == chaos_plan::fault::kind::slow) begin.slow_end = end;
  if (is_cut) begin.step.what = chaos_step::action::cut;
  if (is_cut) begin.step.end = end;
  entries_.push_back(begin);
  if (fault.what != chaos_plan::fault::kind::stop && !is_cut) return;
  entry finish = std::move(begin);
  finish.step.time = end;
  finish.step.signal = SIGCONT;
  if (is_cut) finish.step.what = chaos_step::action::restore;
  finish.step.fault.clear();
  entries_.push_back(std::move(finish));
}

void chaos_schedule::add_turn(const entry& last) {
  const bool was_stopped = last.step.signal == SIGSTOP;
  entry turn = last;
  turn.step.fault.clear();
  turn.step.signal = was_stopped ? SIGCONT : SIGSTOP;
  turn.step.time += was_stopped ? slow_stopped : slow_running;
  if (was_stopped) turn.step.time = std::min(turn.step.time, last.slow_end);
  if (was_stopped || turn.step.time < last.slow_end) entries_.push_back(std::move(turn));
}

void chaos_schedule::add_random() {
  using std::chrono::milliseconds;
  const auto mean = std::chrono::duration_cast<milliseconds>(noise_->mean_gap).count();
  const auto up_to = [this](std::int64_t most) {
    return milliseconds(1 + random_.below(static_cast<std::uint64_t>(most)));
  };
  random_time_ += up_to(2 * mean);
  chaos_plan::fault fault;
  fault.start = random_time_;
  const std::uint64_t choice = random_.below(4);
  if (choice == 2) fault.what = chaos_plan::fault::kind::stop;
  if (choice == 3) fault.what = chaos_plan::fault::kind::slow;
  if (choice >= 2) fault.span = up_to(mean);
  add(fault, random_.next(), true);
}

}  // namespace elasticrun
