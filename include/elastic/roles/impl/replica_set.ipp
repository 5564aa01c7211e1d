// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/replica_set.hpp>

#include <elastic/agent/detail/run/command_reply.hpp>
#include <elastic/agent/detail/run/inbox_service.hpp>
#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/agent/detail/run/run_activity.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/detail/shielded_run.hpp>
#include <elastic/base/error.hpp>
#include <elastic/launch/detail/signalled_run.hpp>
#include <elastic/launch/detail/worker_preparation.hpp>
#include <elastic/process/detail/signal_number.hpp>
#include <elastic/roles/detail/replica_run.hpp>

#include <memory>
#include <ostream>
#include <string>
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
  demand(workers.on_failure == failure_policy::restart,
         "world: on_failure replace is for workers that have one");
  demand(workers.node_check.command.empty(), "node check");
  const log_options& logs = workers.logs;
  demand(logs.duplicate_stdout_filters.empty() && logs.duplicate_stderr_filters.empty(),
         "file for lines of all of them: duplicate_stdout_filters and duplicate_stderr_filters are "
         "for workers that start together");
}

inline prepared_workers prepare_replicas(const launch_config& config,
                                         const agent_services& services) {
  prepared_workers prepared = prepare_workers(config, services);
  check_replicas(prepared.workers);
  return prepared;
}

inline std::string run_id_of(const launch_config& config) {
  const std::string& given = config.rendezvous.run_id;
  return given.empty() || given == rendezvous_parameters().run_id ? random_uuid() : given;
}

/// The state that a replica_set passes to its run, which may outlive it.
struct replica_parts {
  replica_parts(const launch_config& config, const agent_services& services,
                const std::shared_ptr<request_inbox>& inbox, std::shared_ptr<run_monitor> follower)
      : prepared(prepare_replicas(config, services)),
        run_id(run_id_of(config)),
        monitor(std::move(follower)),
        requests(inbox) {}

  prepared_workers prepared;
  std::string run_id;
  std::shared_ptr<run_monitor> monitor;
  inbox_reader requests;
};

inline task<run_result> run_replicas_once(std::unique_ptr<replica_parts> parts) {
  if (!parts) throw error(errc::invalid_argument, "a replica_set runs once");
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const asio::any_io_executor strand = new_strand(executor);
  agent_part::context context = part_context(strand, executor, parts->requests.inbox());
  prepared_workers prepared = std::move(parts->prepared);
  prepared.services = complete_services(std::move(prepared.services), strand);
  const monitor_scope following(prepared.services.journal, prepared.services.time, parts->monitor);
  const auto run = new_shared<replica_run>(std::move(context), std::move(prepared), parts->run_id);
  auto on_cancel = stop_by_cancellation(parts->requests.inbox());
  task<run_result> serving = serve_inbox(strand, std::move(parts->requests), run, run->run());
  task<run_result> running =
      run_shielded<run_result>(strand, std::move(serving), std::move(on_cancel));
  co_return co_await std::move(running);
}

}  // namespace detail

ELASTIC_DECL replica_set::replica_set(const launch_config& config, agent_services services)
    : inbox_(detail::new_shared<detail::request_inbox>()),
      monitor_(detail::new_shared<detail::run_monitor>()),
      parts_(std::make_unique<detail::replica_parts>(config, std::move(services), inbox_,
                                                     monitor_)) {}

ELASTIC_DECL replica_set::replica_set(const launch_config& config)
    : replica_set(config, agent_services()) {}

ELASTIC_DECL replica_set::~replica_set() {
  inbox_->push(detail::stop_by_destructor("replica_set"));
}

ELASTIC_DECL task<run_result> replica_set::run() & {
  return detail::run_replicas_once(std::exchange(parts_, nullptr));
}

ELASTIC_DECL void replica_set::stop(stop_request request) {
  detail::require_signal(request.signal, "stop_request::signal");
  inbox_->push(std::move(request));
}

ELASTIC_DECL void replica_set::signal(int number) {
  detail::require_signal(number, "replica_set::signal");
  inbox_->push(detail::signal_request{number});
}

ELASTIC_DECL void replica_set::signal_replica(int replica, int number, std::string reason) {
  detail::require_signal(number, "replica_set::signal_replica");
  inbox_->push(detail::rank_signal_request{replica, number, std::move(reason)});
}

ELASTIC_DECL task<job_command::outcome> replica_set::carry_out(job_command command) & {
  return detail::command_by_inbox(std::move(command), inbox_);
}

ELASTIC_DECL void replica_set::dump(std::ostream& out) const {
  const std::string text = monitor_->text("replica_set", inbox_->waiting());
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

ELASTIC_DECL task<run_result> run_with_signals(replica_set& replicas, named<signal_plan> plan) {
  return detail::run_signalled<run_result>(replicas, plan, {});
}

ELASTIC_DECL task<run_result> run_with_signals(replica_set& replicas) {
  return detail::run_signalled<run_result>(replicas, signal_plan(), {});
}

}  // namespace elastic
