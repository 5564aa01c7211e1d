// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/job.hpp>

#include <elastic/agent/detail/request_inbox.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/launch/launcher.hpp>

#include <csignal>
#include <exception>
#include <optional>
#include <utility>

namespace elastic {

ELASTIC_DECL job::job(asio::any_io_executor executor, named<launch_config> config)
    : executor_(std::move(executor)), agent_(make_agent(config)) {}

ELASTIC_DECL job::job(asio::any_io_executor executor, named<launch_config> config,
                      named<agent_services> services, const rendezvous_registry& backends)
    : executor_(std::move(executor)), agent_(make_agent(config, services, backends)) {}

ELASTIC_DECL job::~job() = default;

ELASTIC_DECL task<run_result> job::run() & {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  asio::cancellation_slot slot = cancellation.slot();
  if (slot.is_connected()) {
    slot.assign([agent = agent_](asio::cancellation_type requested) {
      agent->stop(detail::as_stop_request(requested));
    });
  }
  std::optional<run_result> result;
  std::exception_ptr failure;
  task<run_result> running = agent_->run();
  try {
    // The agent gets an empty slot: `stop` alone ends it, and so it has a result.
    task<void> keeping = detail::keep_result(std::move(running), result);
    co_await detail::run_on(executor_, std::move(keeping), asio::cancellation_slot());
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::reset_cancellation_state();
  co_await asio::this_coro::throw_if_cancelled(true);
  if (failure) std::rethrow_exception(failure);
  co_return std::move(*result);
}

ELASTIC_DECL void job::stop(stop_request request) { agent_->stop(std::move(request)); }

ELASTIC_DECL void job::kill(std::string reason) {
  stop_request request;
  request.signal = SIGKILL;
  request.reason = std::move(reason);
  request.escalates = true;
  agent_->stop(std::move(request));
}

}  // namespace elastic
