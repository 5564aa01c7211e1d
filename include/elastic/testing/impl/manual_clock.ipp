// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/manual_clock.hpp>

#include <stdexcept>

namespace elastic::testing {

ELASTIC_DECL manual_clock::manual_clock(asio::io_context& context)
    : context_(context), sleepers_(context.get_executor()) {}

ELASTIC_DECL time_point manual_clock::now() const { return start + elapsed_; }

ELASTIC_DECL wall_time manual_clock::wall_now() const {
  return wall_start + std::chrono::duration_cast<wall_time::duration>(elapsed_);
}

ELASTIC_DECL task<void> manual_clock::sleep_until(time_point deadline) {
  return sleepers_.wait(nullptr, deadline.time_since_epoch().count());
}

ELASTIC_DECL std::shared_ptr<time_source> manual_clock::share() {
  return std::shared_ptr<time_source>(std::shared_ptr<void>(), this);
}

ELASTIC_DECL void manual_clock::run() {
  run_ready();
  while (jump(time_point::max())) run_ready();
}

ELASTIC_DECL void manual_clock::run_for(duration span) {
  const time_point end = now() + span;
  run_ready();
  while (jump(end)) run_ready();
  elapsed_ = end - start;
}

ELASTIC_DECL void manual_clock::run(task<void> work) {
  // On the heap: a coroutine that never ends outlives this call.
  const auto outcome = std::make_shared<ending>();
  asio::co_spawn(context_, std::move(work), [outcome](std::exception_ptr failure) {
    outcome->ended = true;
    outcome->failure = failure;
  });
  run_ready(outcome.get());
  while (!outcome->ended && jump(time_point::max())) run_ready(outcome.get());
  if (!outcome->ended) throw std::logic_error("it waits for something that cannot happen any more");
  if (outcome->failure) std::rethrow_exception(outcome->failure);
}

ELASTIC_DECL void manual_clock::run_ready(const ending* until) {
  context_.restart();
  while (!(until && until->ended) && (context_.poll_one() != 0 || something_happens())) {
  }
}

ELASTIC_DECL bool manual_clock::something_happens() {
  return quiet_.count() > 0 && context_.run_one_for(quiet_) != 0;
}

ELASTIC_DECL time_point manual_clock::first_deadline() const {
  return time_point(duration(sleepers_.first_order()));
}

ELASTIC_DECL bool manual_clock::jump(time_point end) {
  if (sleepers_.empty()) return false;
  const time_point deadline = first_deadline();
  if (deadline > end || deadline == time_point::max()) return false;
  if (deadline > now()) elapsed_ = deadline - start;
  while (!sleepers_.empty() && first_deadline() <= now()) sleepers_.wake_first();
  return true;
}

}  // namespace elastic::testing
