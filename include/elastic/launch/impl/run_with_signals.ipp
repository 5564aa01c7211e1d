// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/run_with_signals.hpp>

#include <elastic/agent/stop_request.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/launch/detail/signal_relay.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace elastic {

namespace detail {

ELASTIC_DECL task<run_result> run_watched(local_agent& agent, signal_plan plan,
                                          std::vector<task<void>> watchers) {
  std::optional<run_result> result;
  signal_receiver receiver;
  receiver.stop = [&agent](stop_request request) { agent.stop(std::move(request)); };
  receiver.forward = [&agent](int number) { agent.signal(number); };
  task<void> running = keep_result(agent.run(), result);
  task<void> relaying = relay_signals(std::move(running), std::move(receiver), std::move(plan),
                                      std::move(watchers));
  co_await std::move(relaying);
  co_return std::move(*result);
}

}  // namespace detail

ELASTIC_DECL task<run_result> run_with_signals(local_agent& agent, named<signal_plan> plan) {
  return detail::run_watched(agent, *plan, {});
}

ELASTIC_DECL task<run_result> run_with_signals(local_agent& agent) {
  return detail::run_watched(agent, signal_plan(), {});
}

}  // namespace elastic
