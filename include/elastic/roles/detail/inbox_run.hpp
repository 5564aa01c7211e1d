// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/request_inbox.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/detail/signal_relay.hpp>
#include <elastic/launch/signal_plan.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Runs `work` on the strand to its end. To cancel the caller is a request to stop, through the
/// inbox, so that there is a result in any case. The caller's cancellation state is afterwards as
/// Asio makes it: terminal only, nothing pending.
template <class Result>
task<Result> run_by_inbox(asio::any_io_executor strand, std::shared_ptr<request_inbox> inbox,
                          task<Result> work) {
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  asio::cancellation_slot slot = cancellation.slot();
  if (slot.is_connected()) {
    slot.assign([inbox](asio::cancellation_type requested) {
      inbox->push(as_stop_request(requested));
    });
  }
  std::optional<Result> result;
  std::exception_ptr failure;
  try {
    // The body gets an empty slot: what is asked of it comes through the inbox alone.
    task<void> running = keep_result(std::move(work), result);
    co_await run_on(strand, std::move(running), asio::cancellation_slot());
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::reset_cancellation_state();
  co_await asio::this_coro::throw_if_cancelled(true);
  if (failure) std::rethrow_exception(failure);
  co_return std::move(*result);
}

/// Runs a replica_set or a role_group, which the signals of this process stop.
/// @param beside  tasks that end only when they are cancelled; one that fails ends the run
template <class Result, class Runner>
task<Result> run_signalled(Runner& runner, signal_plan plan, std::vector<task<void>> beside) {
  std::optional<Result> result;
  signal_receiver receiver;
  receiver.stop = [&runner](stop_request request) { runner.stop(std::move(request)); };
  receiver.forward = [&runner](int number) { runner.signal(number); };
  task<void> running = keep_result(runner.run(), result);
  task<void> relaying = relay_signals(std::move(running), std::move(receiver), std::move(plan),
                                      std::move(beside));
  co_await std::move(relaying);
  co_return std::move(*result);
}

}  // namespace elastic::detail
