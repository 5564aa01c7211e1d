// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/replica_set.hpp>

#include <elastic/agent/detail/command_reply.hpp>
#include <elastic/agent/detail/inbox_service.hpp>
#include <elastic/agent/detail/request_inbox.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/detail/shielded_run.hpp>
#include <elastic/base/error.hpp>
#include <elastic/launch/detail/worker_preparation.hpp>
#include <elastic/roles/detail/replica_run.hpp>
#include <elastic/roles/detail/signalled_run.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline void check_replicas(const worker_spec& workers) {
  validate(workers);
  const auto demand = [](bool holds, const char* what) {
    if (holds) return;
    throw error(errc::invalid_argument, fmt::format("replicas have no {}", what));
  };
  demand(workers.on_failure == on_failure::restart,
         "world: on_failure replace is for workers that have one");
  demand(workers.node_check.command.empty(), "node check");
  const log_options& logs = workers.logs;
  demand(logs.duplicate_stdout_filters.empty() && logs.duplicate_stderr_filters.empty(),
         "file for lines of all of them: duplicate_stdout_filters and duplicate_stderr_filters are "
         "for workers that start together");
}

inline std::unique_ptr<prepared_workers> prepare_replicas(const launch_config& config,
                                                          const agent_services& services) {
  auto prepared = std::make_unique<prepared_workers>(prepare_workers(config, services));
  check_replicas(prepared->workers);
  return prepared;
}

inline std::string run_id_of(const launch_config& config) {
  const std::string& given = config.rendezvous.run_id;
  return given.empty() || given == rendezvous_parameters().run_id ? random_uuid() : given;
}

}  // namespace detail

ELASTIC_DECL replica_set::replica_set(named<launch_config> config, named<agent_services> services)
    : prepared_(detail::prepare_replicas(*config, *services)),
      run_id_(detail::run_id_of(*config)),
      inbox_(detail::new_shared<detail::request_inbox>()) {}

ELASTIC_DECL replica_set::replica_set(named<launch_config> config)
    : prepared_(detail::prepare_replicas(*config, agent_services())),
      run_id_(detail::run_id_of(*config)),
      inbox_(detail::new_shared<detail::request_inbox>()) {}

ELASTIC_DECL replica_set::~replica_set() = default;

ELASTIC_DECL task<run_result> replica_set::run() & {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto prepared = std::exchange(prepared_, nullptr);
  if (!prepared) throw error(errc::invalid_argument, "a replica_set runs once");
  const auto strand = asio::make_strand(co_await asio::this_coro::executor);
  // Moved into the run: they may refer to the context, which this object may outlive.
  const auto run = detail::new_shared<detail::replica_run>(strand, std::move(*prepared), run_id_);
  task<run_result> serving = detail::serve_inbox(strand, inbox_, run, run->run());
  task<run_result> running =
      detail::run_shielded<run_result>(strand, std::move(serving), inbox_->cancel_handler());
  co_return co_await std::move(running);
}

ELASTIC_DECL void replica_set::stop(stop_request request) { inbox_->push(std::move(request)); }

ELASTIC_DECL void replica_set::signal(int number) { inbox_->push(detail::signal_request{number}); }

ELASTIC_DECL void replica_set::signal_replica(int replica, int number, std::string reason) {
  inbox_->push(detail::rank_signal_request{replica, number, std::move(reason)});
}

ELASTIC_DECL task<job_command::outcome> replica_set::carry_out(job_command command) & {
  return detail::command_by_inbox(std::move(command), inbox_);
}

ELASTIC_DECL task<run_result> run_with_signals(replica_set& replicas, named<signal_plan> plan) {
  return detail::run_signalled<run_result>(replicas, *plan, {});
}

ELASTIC_DECL task<run_result> run_with_signals(replica_set& replicas) {
  return detail::run_signalled<run_result>(replicas, signal_plan(), {});
}

}  // namespace elastic
