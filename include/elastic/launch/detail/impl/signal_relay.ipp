// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/signal_relay.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/race.hpp>
#include <elastic/process/exit_status.hpp>

#include <signal.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Whether this process was started with the signal ignored, as `nohup` does it.
inline bool is_ignored(int number) {
  struct sigaction action{};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Puts back at its end how this process handled some signals; Asio would leave the default.
class kept_signal_handling {
 public:
  explicit kept_signal_handling(const std::vector<int>& numbers) {
    for (const int number : numbers) ::sigaction(number, nullptr, &before_[number]);
  }
  kept_signal_handling(const kept_signal_handling&) = delete;
  kept_signal_handling& operator=(const kept_signal_handling&) = delete;
  ~kept_signal_handling() {
    for (const auto& [number, action] : before_) ::sigaction(number, &action, nullptr);
  }

 private:
  std::map<int, struct sigaction> before_;
};

/// The signals of a plan that this process is to catch: one of SIGHUP that it was started to ignore
/// stays ignored, and so do the same twice.
inline std::vector<int> to_catch(const signal_plan& plan) {
  std::set<int> numbers(plan.stop.begin(), plan.stop.end());
  if (is_ignored(SIGHUP)) numbers.erase(SIGHUP);
  numbers.insert(plan.forward.begin(), plan.forward.end());
  numbers.insert(plan.preempt.begin(), plan.preempt.end());
  return {numbers.begin(), numbers.end()};
}

/// Turns signals into requests; ends by cancellation only.
inline task<void> receive_signals(asio::signal_set& signals, signal_plan plan,
                                  const signal_receiver& receiver) {
  const auto is_in = [](const std::vector<int>& numbers, int number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
  };
  for (;;) {
    const int number = co_await signals.async_wait(asio::use_awaitable);
    if (is_in(plan.forward, number)) {
      receiver.forward(number);
      continue;
    }
    stop_request request;
    request.signal = is_in(plan.preempt, number) ? SIGTERM : number;
    request.reason = fmt::format("{} received", signal_name(number));
    // Many repeat their request, or follow SIGTERM by SIGHUP, and mean no more by it.
    request.escalates = number == SIGINT;
    receiver.stop(std::move(request));
  }
}

ELASTIC_DECL task<void> relay_signals(task<void> work, signal_receiver receiver, signal_plan plan,
                                      std::vector<task<void>> watchers) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  auto executor = co_await asio::this_coro::executor;
  validate(plan);
  const std::vector<int> numbers = to_catch(plan);
  const kept_signal_handling kept(numbers);
  // Before a worker can run: none may see this process die of a signal that is to be forwarded.
  asio::signal_set signals(executor);
  for (const int number : numbers) signals.add(number);
  std::vector<task<void>> tasks;
  tasks.push_back(std::move(work));
  tasks.push_back(receive_signals(signals, plan, receiver));
  for (task<void>& watcher : watchers) tasks.push_back(std::move(watcher));
  // Requests of the caller go to the work alone: it decides when this ends.
  const auto outcome =
      co_await run_concurrently(executor, 1, cancelled_by::first_end, std::move(tasks));
  co_await asio::this_coro::reset_cancellation_state();
  co_await asio::this_coro::throw_if_cancelled(true);
  const std::exception_ptr& first_failure = outcome.failures[outcome.order[0]];
  if (first_failure) std::rethrow_exception(first_failure);
  if (outcome.failures[0]) std::rethrow_exception(outcome.failures[0]);
}

}  // namespace elastic::detail
