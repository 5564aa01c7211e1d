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

/// Whether this process was started with the signal ignored, as by `nohup`.
inline bool is_ignored(int number) {
  struct sigaction action{};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Restores this process's handling of some signals on destruction; Asio would leave the default
/// handling.
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

/// The signals of a plan that this process must catch, without duplicates. A SIGHUP that was
/// ignored at the start stays ignored.
inline std::vector<int> to_catch(const signal_plan& plan) {
  std::set<int> numbers(plan.stop.begin(), plan.stop.end());
  if (is_ignored(SIGHUP)) numbers.erase(SIGHUP);
  numbers.insert(plan.forward.begin(), plan.forward.end());
  numbers.insert(plan.preempt.begin(), plan.preempt.end());
  return {numbers.begin(), numbers.end()};
}

/// Turns signals into requests. Ends only by cancellation.
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
    // Many senders repeat SIGTERM, or send SIGHUP after it, without the intention to kill at once.
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
  // Caught before a worker can run, so that no signal that should be forwarded kills this process.
  asio::signal_set signals(executor);
  for (const int number : numbers) signals.add(number);
  std::vector<task<void>> tasks;
  tasks.push_back(std::move(work));
  tasks.push_back(receive_signals(signals, plan, receiver));
  for (task<void>& watcher : watchers) tasks.push_back(std::move(watcher));
  // Cancellation by the caller reaches only the work, which decides when this ends.
  const auto outcome =
      co_await run_concurrently(executor, 1, cancelled_by::first_end, std::move(tasks));
  co_await asio::this_coro::reset_cancellation_state();
  co_await asio::this_coro::throw_if_cancelled(true);
  const std::exception_ptr& first_failure = outcome.failures[outcome.order[0]];
  if (first_failure) std::rethrow_exception(first_failure);
  if (outcome.failures[0]) std::rethrow_exception(outcome.failures[0]);
}

}  // namespace elastic::detail
