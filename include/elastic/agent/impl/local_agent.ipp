// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/local_agent.hpp>

#include <elastic/agent/detail/run/agent_parts.hpp>
#include <elastic/agent/detail/run/agent_run.hpp>
#include <elastic/agent/detail/run/command_reply.hpp>
#include <elastic/agent/detail/run/inbox_service.hpp>
#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/agent/detail/run/run_activity.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/shielded_run.hpp>
#include <elastic/base/error.hpp>
#include <elastic/process/detail/signal_number.hpp>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

namespace elastic {

namespace detail {

/// The state that an agent passes to its run, which may outlive it.
struct pending_agent {
  pending_agent(local_agent::options settings, const std::shared_ptr<request_inbox>& inbox,
                std::shared_ptr<run_monitor> follower)
      : options(std::move(settings)), monitor(std::move(follower)), requests(inbox) {}

  local_agent::options options;
  std::shared_ptr<run_monitor> monitor;
  inbox_reader requests;
};

inline task<run_result> serve_agent(agent_part::context context,
                                    std::unique_ptr<pending_agent> pending) {
  const asio::any_io_executor strand = context.strand;
  local_agent::options& options = pending->options;
  agent_services services = complete_services(std::move(options.services), strand);
  const monitor_scope following(services.journal, services.time, pending->monitor);
  const auto run = new_shared<agent_run>(std::move(context), std::move(options.workers),
                                         std::move(options.rendezvous), std::move(services),
                                         std::move(options.notice), std::move(options.meeting),
                                         options.job_may_grow);
  task<run_result> serving = serve_inbox(strand, std::move(pending->requests), run, run->run());
  co_return co_await std::move(serving);
}

inline task<run_result> run_agent_once(std::unique_ptr<pending_agent> pending) {
  if (!pending) throw error(errc::invalid_argument, "an agent runs once");
  const auto is_cancelled = new_shared<bool>(false);
  std::function<void(asio::cancellation_type)> on_cancel =
      [is_cancelled,
       stop = stop_by_cancellation(pending->requests.inbox())](asio::cancellation_type requested) {
        *is_cancelled = true;
        stop(requested);
      };
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const asio::any_io_executor strand = new_strand(executor);
  agent_part::context context = part_context(strand, executor, pending->requests.inbox());
  task<run_result> serving = serve_agent(std::move(context), std::move(pending));
  task<run_result> running =
      run_shielded<run_result>(strand, std::move(serving), std::move(on_cancel));
  run_result result = co_await std::move(running);
  if (*is_cancelled && result.state == worker_state::stopped) {
    throw asio_system_error(asio::error::operation_aborted);
  }
  co_return result;
}

}  // namespace detail

ELASTIC_DECL local_agent::local_agent(options settings)
    : inbox_(detail::new_shared<detail::request_inbox>()),
      monitor_(detail::new_shared<detail::run_monitor>(settings.meeting)) {
  validate(settings.workers);
  if (!settings.rendezvous) throw error(errc::invalid_argument, "the agent has no rendezvous");
  pending_ = std::make_unique<detail::pending_agent>(std::move(settings), inbox_, monitor_);
}

ELASTIC_DECL local_agent::~local_agent() { inbox_->push(detail::stop_by_destructor("agent")); }

ELASTIC_DECL task<run_result> local_agent::run() & {
  return detail::run_agent_once(std::exchange(pending_, nullptr));
}

ELASTIC_DECL void local_agent::stop(stop_request request) {
  detail::require_signal(request.signal, "stop_request::signal");
  inbox_->push(std::move(request));
}

ELASTIC_DECL void local_agent::signal(int number) {
  detail::require_signal(number, "local_agent::signal");
  inbox_->push(detail::signal_request{number});
}

ELASTIC_DECL void local_agent::signal_rank(int rank, int number, std::string reason) {
  detail::require_signal(number, "local_agent::signal_rank");
  inbox_->push(detail::rank_signal_request{rank, number, std::move(reason)});
}

ELASTIC_DECL void local_agent::ask(worker_request request) { inbox_->push(request); }

ELASTIC_DECL task<job_command::outcome> local_agent::carry_out(job_command command) & {
  return detail::command_by_inbox(std::move(command), inbox_);
}

ELASTIC_DECL void local_agent::dump(std::ostream& out) const {
  const std::string text = monitor_->text("agent", inbox_->waiting());
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace elastic
