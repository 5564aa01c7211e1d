// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/stop_request.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/detail/signal_relay.hpp>
#include <elastic/launch/signal_plan.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Runs a replica_set or a role_group until it ends or a signal to this process stops it.
/// @param companions  tasks that end only when they are cancelled; one that fails ends the run
template <class Result, class Runner>
task<Result> run_signalled(Runner& runner, signal_plan plan, std::vector<task<void>> companions) {
  std::optional<Result> result;
  signal_receiver receiver;
  receiver.stop = [&runner](stop_request request) { runner.stop(std::move(request)); };
  receiver.forward = [&runner](int number) { runner.signal(number); };
  task<void> running = keep_result(runner.run(), result);
  task<void> relaying = relay_signals(std::move(running), std::move(receiver), std::move(plan),
                                      std::move(companions));
  co_await std::move(relaying);
  co_return std::move(*result);
}

}  // namespace elastic::detail
