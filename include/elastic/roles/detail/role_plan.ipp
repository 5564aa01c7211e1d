// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_plan.hpp>

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/roles/detail/moving_rendezvous.hpp>
#include <elastic/roles/detail/role_log.hpp>
#include <elastic/roles/detail/role_places.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Refuses services that roles cannot share.
inline void check_shared_services(const agent_services& services) {
  const auto demand = [](bool is_empty, const char* member) {
    if (is_empty) return;
    throw error(errc::invalid_argument,
                fmt::format("agent_services::{} is of one agent: each role of a role_group has its "
                            "own, so it must be empty",
                            member));
  };
  demand(services.journal == nullptr, "journal");
  const auto& own = internals::of(services);
  demand(own.reports == nullptr, "reports");
  demand(own.tails == nullptr, "tails");
  demand(own.roles == nullptr, "roles");
}

inline void check_restarts(const role_plan::job& options) {
  if (options.max_restarts < 0) {
    throw error(errc::invalid_argument,
                fmt::format("max_restarts of the job is {}: 0 or more is allowed",
                            options.max_restarts));
  }
  for (const role& each : options.roles) {
    if (each.on_failure != elastic::role::policy::restart_job || options.max_restarts > 0) continue;
    throw error(errc::invalid_argument,
                fmt::format("role '{}': on_failure restart-job needs max_restarts of the job of 1 "
                            "or more",
                            each.name));
  }
}

/// Nodes of one job find each other by its run id, so a job of several nodes needs one.
inline void check_run_id(const role_plan::job& options) {
  if (!options.run_id.empty()) return;
  for (const role& each : options.roles) {
    const bool is_alone = each.config.standalone || !each.has_world;
    if (is_alone || each.config.rendezvous.max_nodes == 1) continue;
    throw error(errc::invalid_argument,
                fmt::format("role '{}' has several nodes: the job needs a run id by which they "
                            "find each other",
                            each.name));
  }
}

ELASTIC_DECL role_plan::role_plan(asio::any_io_executor executor, job options,
                                  agent_services services)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      services_(std::move(services)) {
  validate(options_.roles);
  check_shared_services(services_);
  check_restarts(options_);
  check_run_id(options_);
  if (options_.run_id.empty()) options_.run_id = random_uuid();
  find_meetings();
  // Makes each runner once, so that an invalid role is reported before any role starts.
  for (std::size_t place = 0; place < options_.roles.size(); ++place) {
    circumstances around;
    around.services = services_of(place);
    make_runner(place, std::move(around));
  }
}

ELASTIC_DECL void role_plan::find_meetings() {
  std::map<std::string, int> counts;
  for (const role& each : options_.roles) ++counts[hosted_endpoint(each)];
  for (const role& each : options_.roles) {
    const std::string address = hosted_endpoint(each);
    if (address.empty() || counts[address] < 2 || !do_nodes_meet(options_.roles, address)) continue;
    const auto [meeting, is_new] = meetings_.emplace(address, each.config.rendezvous);
    if (!is_new) continue;
    rendezvous_parameters& parameters = meeting->second;
    parameters.run_id = options_.run_id;
    parameters.log = services_.log;
    if (const auto file = find_variable(each.config.workers.environment,
                                        "ELASTIC_JOB_SECRET_FILE");
        file && !file->empty() && !parameters.secret) {
      parameters.conf.emplace("secret_file", *file);
    }
  }
}

ELASTIC_DECL std::string role_plan::meeting_of(std::size_t role) const {
  const std::string address = hosted_endpoint(options_.roles[role]);
  return meetings_.contains(address) ? address : std::string();
}

/// The group's server serves all roles, so no agent hosts one, and nodes of torchrun cannot meet
/// there.
ELASTIC_DECL std::shared_ptr<const rendezvous_registry> role_plan::backends_beside_server(
    const circumstances& around) const {
  const auto backends = services_.backends ? new_shared<rendezvous_registry>(*services_.backends)
                                           : new_shared<rendezvous_registry>();
  const bool is_beside_server = around.is_beside_server;
  // After a restart of the job the server is expected to answer. If it does not, the node that
  // hosted it has left the job.
  const bool is_known = around.restarts > 0;
  backends->add("c10d", [is_beside_server, is_known](const rendezvous_parameters& parameters) {
    const auto dialect = parameters.conf.find("dialect");
    if (dialect != parameters.conf.end() && dialect->second != "auto") {
      throw error(errc::invalid_argument,
                  fmt::format("{}: roles that share an endpoint cannot meet with nodes of torchrun",
                              parameters.name_of("dialect")));
    }
    auto handler = new_shared<c10d_rendezvous>(parameters);
    handler->use_server(is_beside_server, is_known);
    return handler;
  });
  return backends;
}

/// Backends whose handlers detect that a role of one node has moved to this node.
inline std::shared_ptr<const rendezvous_registry> backends_that_move(
    const std::shared_ptr<const rendezvous_registry>& given, const role& which, const logger& log) {
  const auto inner = given ? given : new_shared<const rendezvous_registry>();
  const auto backends = new_shared<rendezvous_registry>(*inner);
  backends->add(which.config.rendezvous.backend,
                [inner, log](const rendezvous_parameters& parameters) {
                  return moving_rendezvous::around(inner->make(parameters), log);
                });
  return backends;
}

/// A name that distinguishes the run of a role after a restart of the job from the earlier ones.
inline std::string name_of_run(const std::string& role, int restarts) {
  return restarts == 0 ? role : fmt::format("{}_{}", role, restarts);
}

ELASTIC_DECL agent_services role_plan::services_of(std::size_t role) const {
  agent_services services = services_;
  services.log = log_of_role(options_.roles[role].name, services_.log);
  return services;
}

ELASTIC_DECL std::string role_plan::run_id_of(std::size_t role, int restarts) const {
  return fmt::format("{}/{}", options_.run_id, name_of_run(options_.roles[role].name, restarts));
}

ELASTIC_DECL launch_config role_plan::config_of(std::size_t role,
                                                const circumstances& around) const {
  const elastic::role& which = options_.roles[role];
  launch_config config = which.config;
  worker_spec& workers = config.workers;
  workers.role = which.name;
  if (which.on_failure == elastic::role::policy::replace) {
    workers.on_failure = failure_policy::replace;
  }
  workers.log_dir = around.log_root.empty() ? "/dev/null" : around.log_root;
  if (!around.log_root.empty()) workers.log_name = name_of_run(which.name, around.restarts);
  // The journal of the job has all records; the role has its own file only on request.
  if (workers.journal.empty()) workers.journal = "/dev/null";
  config.rendezvous.run_id = run_id_of(role, around.restarts);
  return config;
}

ELASTIC_DECL role_plan::runner role_plan::make_runner(std::size_t role,
                                                      circumstances around) const {
  const elastic::role& which = options_.roles[role];
  const launch_config config = config_of(role, around);
  agent_services services = std::move(around.services);
  try {
    if (!which.has_world) return std::make_shared<replica_set>(config, services);
    if (!meeting_of(role).empty()) {
      services.backends = backends_beside_server(around);
    }
    if (node_bound(options_.roles, which) == 1) {
      services.backends = backends_that_move(services.backends, which, services.log);
    }
    return std::shared_ptr<local_agent>(elastic::make_agent(config, services));
  } catch (const error& failure) {
    throw error(static_cast<errc>(failure.code().value()),
                fmt::format("role '{}': {}", which.name, failure.what()));
  }
}

}  // namespace elastic::detail
