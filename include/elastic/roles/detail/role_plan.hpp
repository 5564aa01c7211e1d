// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/roles/replica_set.hpp>
#include <elastic/roles/role.hpp>
#include <elastic/roles/role_group.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace elastic {


namespace detail {

/// The parameters of a role_group. Makes the agent or the replica_set that runs each role.
class role_plan {
 public:
  /// The options of the group, see `role_group::options`.
  struct job {
    std::string run_id;
    std::vector<role> roles;
    int max_restarts = 0;
    std::string log_dir;
    std::string journal;
    std::function<void(std::size_t role, agent_services& services)> complete;
    std::function<void(role_group::snapshot now)> on_change;
  };

  /// The circumstances of a runner besides its role.
  struct circumstances {
    /// How often all roles were restarted before.
    int restarts = 0;
    /// The log directory of the job; empty: there is none.
    std::string log_root;
    /// The server at which the nodes of the role meet is in this process.
    bool is_beside_server = false;
    /// The services of the runner.
    agent_services services = {};
  };

  /// The parameters of each server at which several roles meet, by its endpoint.
  using shared_meetings = std::map<std::string, rendezvous_parameters>;

  /// Errors: those of the constructor of role_group.
  ELASTIC_DECL role_plan(asio::any_io_executor executor, job options, agent_services services);

  const asio::any_io_executor& executor() const { return executor_; }
  const job& options() const { return options_; }
  const agent_services& services() const { return services_; }

  const shared_meetings& meetings() const { return meetings_; }

  /// The endpoint at which the role meets, if it shares it with other roles; otherwise empty.
  ELASTIC_DECL std::string meeting_of(std::size_t role) const;

  /// The services of the group, with a log whose lines name this role.
  ELASTIC_DECL agent_services services_of(std::size_t role) const;

  /// The run id under which the nodes of the role meet.
  /// @param restarts  how often all roles were restarted
  ELASTIC_DECL std::string run_id_of(std::size_t role, int restarts) const;

  /// The object that runs the workers of a role: an agent, or a set of replicas.
  using runner = std::variant<std::shared_ptr<local_agent>, std::shared_ptr<replica_set>>;

  /// Errors: those of `make_agent` and of replica_set, which name the role.
  ELASTIC_DECL runner make_runner(std::size_t role, circumstances around) const;

 private:
  ELASTIC_DECL launch_config config_of(std::size_t role, const circumstances& around) const;
  // Finds the endpoints that several roles share.
  ELASTIC_DECL void find_meetings();
  ELASTIC_DECL std::shared_ptr<const rendezvous_registry> backends_beside_server(
      const circumstances& around) const;

  asio::any_io_executor executor_;
  job options_;
  agent_services services_;
  shared_meetings meetings_;
};

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_plan.ipp>
#endif
