// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/detail/signal_relay.hpp>
#include <elastic/launch/signal_plan.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Runs `work` until it ends or a signal to this process stops it. It reads the inbox, and the
/// object that it is a run of may be destroyed meanwhile.
/// @param companions  tasks that end only when they are cancelled; one that fails ends the run
template <class Result>
task<Result> relay_to_inbox(std::shared_ptr<request_inbox> inbox, task<Result> work,
                            signal_plan plan, std::vector<task<void>> companions) {
  std::optional<Result> result;
  signal_receiver receiver;
  receiver.stop = [inbox](stop_request request) { inbox->push(std::move(request)); };
  receiver.forward = [inbox](int number) { inbox->push(signal_request{number}); };
  task<void> running = keep_result(std::move(work), result);
  task<void> relaying = relay_signals(std::move(running), std::move(receiver), std::move(plan),
                                      std::move(companions));
  co_await std::move(relaying);
  co_return std::move(*result);
}

/// The same for an agent, a replica_set or a role_group.
template <class Result, class Runner>
task<Result> run_signalled(Runner& runner, signal_plan plan, std::vector<task<void>> companions) {
  return relay_to_inbox(inbox_access::of(runner), runner.run(), std::move(plan),
                        std::move(companions));
}

}  // namespace elastic::detail
