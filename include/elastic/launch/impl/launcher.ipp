// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/launcher.hpp>

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/detail/worker_preparation.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <chrono>
#include <string>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Errors: `errc::invalid_argument`, naming the setting.
inline std::string chosen_address(const rendezvous_parameters& parameters) {
  try {
    return local_address_named(parameters.local_addr);
  } catch (const error& refusal) {
    throw error(static_cast<errc>(refusal.code().value()),
                fmt::format("{} {}: {}", parameters.name_of("local_addr"), parameters.local_addr,
                            refusal.what()));
  }
}

/// The parameters of the rendezvous. A standalone node gets a store on a free port of this machine.
inline rendezvous_parameters rendezvous_of(const launch_config& config, const logger& log) {
  rendezvous_parameters parameters = config.rendezvous;
  if (config.standalone) {
    parameters = {};
    static_cast<rendezvous_settings&>(parameters) = config.rendezvous;
    parameters.min_nodes = parameters.max_nodes = 1;
    parameters.node_counts.clear();
    parameters.scale_up_delay = duration::zero();
    parameters.backend = "c10d";
    parameters.endpoint = "localhost:0";
    parameters.conf = config.rendezvous.conf;
    parameters.naming = config.rendezvous.naming;
    parameters.use_ring = config.rendezvous.use_ring;
    parameters.run_id = config.rendezvous.run_id;
    if (parameters.run_id.empty()) parameters.run_id = random_uuid();
  } else if (parameters.backend == "static" && parameters.endpoint.empty()) {
    endpoint master;
    master.host = config.master_addr;
    master.port = config.master_port;
    parameters.endpoint = to_text(master);
  }
  parameters.local_addr = chosen_address(parameters);
  const auto secret_file = find_variable(config.workers.environment, "ELASTIC_JOB_SECRET_FILE");
  if (secret_file && !secret_file->empty() && !parameters.secret) {
    parameters.conf.emplace("secret_file", *secret_file);
  }
  const auto is_unshared =
      find_variable(config.workers.environment, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE");
  const bool is_plain = config.workers.contract == worker_contract::plain;
  if (is_unshared == "1" || is_plain) parameters.share_worker_store = false;
  parameters.log = log;
  return parameters;
}

/// "the job needs 2 to 4 nodes, which meet at host0:29400 (backend c10d, run id 'job1') within
/// 600 s (join_timeout)"; empty for one node.
inline std::string meeting_of(const rendezvous_parameters& parameters) {
  if (parameters.max_nodes == 1) return {};
  const std::string least = parameters.min_nodes == parameters.max_nodes
                                ? std::string()
                                : fmt::format("{} to ", parameters.min_nodes);
  const bool is_static = parameters.backend == "static";
  const duration patience =
      is_static ? static_patience(parameters) : parameters.join_timeout;
  return fmt::format("the job needs {}{} nodes, which meet at {} (backend {}, run id '{}') within "
                     "{:g} s ({})",
                     least, parameters.max_nodes,
                     parameters.endpoint.empty() ? "the default endpoint" : parameters.endpoint,
                     parameters.backend, parameters.run_id,
                     std::chrono::duration<double>(patience).count(),
                     parameters.name_of(is_static ? "timeout" : "join_timeout"));
}

inline rendezvous_factory make_rendezvous(const rendezvous_parameters& parameters,
                                          const rendezvous_registry* backends) {
  return backends != nullptr ? backends->make(parameters) : rendezvous_registry().make(parameters);
}

inline std::unique_ptr<local_agent> new_agent(const launch_config& config,
                                              agent_services services) {
  prepared_workers prepared = prepare_workers(config, std::move(services));
  local_agent::options options;
  options.workers = std::move(prepared.workers);
  options.services = std::move(prepared.services);
  options.notice = std::move(prepared.notice);
  rendezvous_parameters parameters = detail::rendezvous_of(config, options.services.log);
  const auto& links = detail::internals::of(options.services);
  auto& meeting = detail::internals::of(parameters);
  if (parameters.max_nodes > 1 && links.reports) meeting.reports = links.reports;
  if (links.meter) meeting.meter = links.meter;
  options.meeting = detail::meeting_of(parameters);
  options.job_may_grow = parameters.min_nodes < parameters.max_nodes;
  options.rendezvous = make_rendezvous(parameters, options.services.backends.get());
  return std::make_unique<local_agent>(std::move(options));
}

ELASTIC_DECL task<run_result> run_agent(std::unique_ptr<local_agent> agent) {
  co_return co_await agent->run();
}

}  // namespace detail

ELASTIC_DECL std::unique_ptr<local_agent> make_agent(named<launch_config> config) {
  return detail::new_agent(config, agent_services());
}

ELASTIC_DECL std::unique_ptr<local_agent> make_agent(named<launch_config> config,
                                                     named<agent_services> services) {
  return detail::new_agent(config, services);
}

ELASTIC_DECL task<run_result> launch(named<launch_config> config) {
  return detail::run_agent(make_agent(config));
}

ELASTIC_DECL task<run_result> launch(named<launch_config> config, named<agent_services> services) {
  return detail::run_agent(make_agent(config, services));
}

}  // namespace elastic
