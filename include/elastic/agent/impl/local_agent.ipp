// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/local_agent.hpp>

#include <elastic/agent/detail/agent_run.hpp>
#include <elastic/agent/detail/command_reply.hpp>
#include <elastic/agent/detail/inbox_service.hpp>
#include <elastic/agent/detail/request_inbox.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/shielded_run.hpp>
#include <elastic/base/error.hpp>

#include <functional>
#include <utility>

namespace elastic {

ELASTIC_DECL local_agent::local_agent(options settings)
    : options_(std::move(settings)), inbox_(detail::new_shared<detail::request_inbox>()) {
  validate(options_.workers);
  if (!options_.rendezvous) throw error(errc::invalid_argument, "the agent has no rendezvous");
}

ELASTIC_DECL task<run_result> local_agent::run() & {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto is_cancelled = detail::new_shared<bool>(false);
  std::function<void(asio::cancellation_type)> on_cancel =
      [is_cancelled, ask_for_stop = inbox_->cancel_handler()](asio::cancellation_type requested) {
        *is_cancelled = true;
        ask_for_stop(requested);
      };
  const auto strand = asio::make_strand(co_await asio::this_coro::executor);
  task<run_result> serving = serve(strand);
  task<run_result> running =
      detail::run_shielded<run_result>(strand, std::move(serving), std::move(on_cancel));
  run_result result = co_await std::move(running);
  if (*is_cancelled && result.state == worker_state::stopped) {
    throw detail::asio_system_error(asio::error::operation_aborted);
  }
  co_return result;
}

ELASTIC_DECL void local_agent::stop(stop_request request) { inbox_->push(std::move(request)); }

ELASTIC_DECL void local_agent::signal(int number) { inbox_->push(detail::signal_request{number}); }

ELASTIC_DECL void local_agent::signal_rank(int rank, int number, std::string reason) {
  inbox_->push(detail::rank_signal_request{rank, number, std::move(reason)});
}

ELASTIC_DECL void local_agent::ask(worker_request request) { inbox_->push(request); }

ELASTIC_DECL task<job_command::outcome> local_agent::carry_out(job_command command) & {
  return detail::command_by_inbox(std::move(command), inbox_);
}

ELASTIC_DECL task<run_result> local_agent::serve(asio::any_io_executor strand) {
  if (!options_.rendezvous) throw error(errc::invalid_argument, "an agent runs once");
  agent_services services = complete(std::exchange(options_.services, {}), strand);
  // Moved into the run: they may refer to the context, which this object may outlive.
  const auto run = detail::new_shared<detail::agent_run>(
      strand, options_.workers, std::exchange(options_.rendezvous, nullptr), std::move(services),
      std::exchange(options_.notice, {}), std::exchange(options_.meeting, {}),
      options_.job_may_grow);
  task<run_result> serving = detail::serve_inbox(strand, inbox_, run, run->run());
  co_return co_await std::move(serving);
}

}  // namespace elastic
