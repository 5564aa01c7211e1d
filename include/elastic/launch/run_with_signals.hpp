// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/exit_status.hpp>

#include <signal.h>

#include <array>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Whether this process was started with the signal ignored, as `nohup` does it.
inline bool is_ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Puts back at its end how this process handled the signals to be forwarded; Asio would leave the
/// default.
class kept_signal_handling {
 public:
  kept_signal_handling() {
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], nullptr, &before_[i]);
  }
  kept_signal_handling(const kept_signal_handling&) = delete;
  kept_signal_handling& operator=(const kept_signal_handling&) = delete;
  ~kept_signal_handling() {
    for (std::size_t i = 0; i < numbers.size(); ++i) ::sigaction(numbers[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 4> numbers{SIGINT, SIGTERM, SIGQUIT, SIGHUP};
  std::array<struct sigaction, 4> before_{};
};

/// Turns the signals that this process gets into requests to stop; ends by cancellation only.
inline task<void> forward_signals(asio::signal_set& signals, local_agent& agent) {
  for (bool stopping = false;;) {
    const int number = co_await signals.async_wait(asio::use_awaitable);
    // Many repeat their request, or follow SIGTERM by SIGHUP, and mean no more by it.
    if (stopping && number != SIGINT) continue;
    stop_request request;
    request.signal = number;
    request.reason = fmt::format("{} received", signal_name(number));
    agent.stop(std::move(request));
    stopping = true;
  }
}

}  // namespace detail

/// Runs an agent as a program does: SIGINT, SIGTERM, SIGHUP and SIGQUIT of this process stop it in
/// order, its workers getting the same signal; a SIGINT while it stops kills them at once. SIGHUP
/// stays ignored where the program was started so (`nohup`). When this returns, the signals are
/// handled as before.
///
/// Result, errors and cancellation: those of `local_agent::run`.
inline task<run_result> run_with_signals(local_agent& agent) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  auto executor = co_await asio::this_coro::executor;
  const detail::kept_signal_handling kept;
  // Before a worker can run: none may see this process die of a signal that is to be forwarded.
  asio::signal_set signals(executor, SIGINT, SIGTERM, SIGQUIT);
  if (!detail::is_ignored(SIGHUP)) signals.add(SIGHUP);
  std::optional<run_result> result;
  task<void> running = detail::keep_result(agent.run(), result);
  // Requests of the caller go to the agent alone: it decides when this ends.
  const auto outcome = co_await detail::run_race(executor, 1, std::move(running),
                                                 detail::forward_signals(signals, agent));
  co_await asio::this_coro::reset_cancellation_state();
  co_await asio::this_coro::throw_if_cancelled(true);
  if (outcome.failures[0]) std::rethrow_exception(outcome.failures[0]);
  co_return std::move(*result);
}

}  // namespace elastic
