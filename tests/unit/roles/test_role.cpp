// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The allowed settings of a job of several roles, and the errors for all others.

#include <elastic/roles/role.hpp>
#include <elastic/roles/role_group.hpp>

#include <elastic/base/error.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace role_tests {

using elastic::role;
using role_condition = elastic::role::condition;
using elastic::role_group;
using role_policy = elastic::role::policy;

role make(std::string name) {
  role made;
  made.name = std::move(name);
  made.config.workers.program = "/bin/true";
  made.config.standalone = true;
  return made;
}

/// A trainer, and two roles that stop with it.
std::vector<role> sound_roles() {
  std::vector<role> roles{make("trainer"), make("rollout"), make("reward")};
  roles[1].stops_with = "trainer";
  roles[2].stops_with = "trainer";
  roles[1].starts_after.push_back({"reward", role_condition::event::ready});
  return roles;
}

TEST_CASE("roles: sound ones are accepted", "[roles]") {
  CHECK_NOTHROW(validate(sound_roles()));
}

TEST_CASE("roles: a job that cannot be is refused by one sentence", "[roles]") {
  struct row {
    std::function<void(std::vector<role>&)> mistake;
    std::string sentence;
  };
  const std::vector<row> rows{
      {[](auto& roles) { roles.clear(); }, "a job needs a role"},
      {[](auto& roles) { roles.assign(65, make("a")); }, "65 roles: 1 to 64 are allowed"},
      {[](auto& roles) { roles[1].name = "trainer"; }, "two roles are named 'trainer'"},
      {[](auto& roles) { roles[0].name = "../etc"; },
       "role '../etc': a name is 1 to 64 letters, digits, '-' and '_'"},
      {[](auto& roles) { roles[0].name = ""; },
       "role '': a name is 1 to 64 letters, digits, '-' and '_'"},
      {[](auto& roles) { roles[2].config.workers.program.clear(); },
       "role 'reward' has no program"},
      {[](auto& roles) { roles[1].config.workers.arguments = {"--port", "${port.}"}; },
       "role 'rollout': '${port.}': the form of a port is ${port.NAME}, with a NAME of 1 to 32 "
       "letters, digits and '_' that does not begin with a digit"},
      {[](auto& roles) { roles[1].stops_with = "trianer"; },
       "role 'rollout' stops with 'trianer', which is not a role of the job (did you mean "
       "'trainer'?)"},
      {[](auto& roles) { roles[1].starts_after[0].role = "judge"; },
       "role 'rollout' starts after 'judge', which is not a role of the job"},
      {[](auto& roles) { roles[1].stops_with = "rollout"; }, "role 'rollout' stops with itself"},
      {[](auto& roles) { roles[0].starts_after.push_back({"trainer"}); },
       "role 'trainer' starts after itself"},
      {[](auto& roles) {
         roles[2].starts_after.push_back({"trainer"});
         roles[0].starts_after.push_back({"rollout"});
       },
       "roles that wait for each other never start: 'trainer' starts after 'rollout' starts after "
       "'reward' starts after 'trainer'"},
      {[](auto& roles) { roles[0].stops_with = "reward"; },
       "every role stops with another one: the job needs a role whose success it waits for (one "
       "without stops_with)"},
      {[](auto& roles) { roles[1].on_failure = role_policy::restart_role; },
       "role 'rollout': on_failure restart-role needs max_restarts of 1 or more"},
      {[](auto& roles) { roles[1].on_failure = role_policy::replace; },
       "role 'rollout': on_failure replace needs max_restarts of 1 or more"},
      {[](auto& roles) { roles[0].config.workers.max_restarts = 3; },
       "role 'trainer': on_failure fail-job allows no restarts of the role alone, but max_restarts "
       "is 3"},
      {[](auto& roles) {
         roles[1].on_failure = role_policy::restart_worker;
         roles[1].config.workers.max_restarts = 1;
       },
       "role 'rollout': on_failure restart-worker is for replicas; workers with a world have "
       "replace"},
      {[](auto& roles) {
         roles[1].has_world = false;
         roles[1].on_failure = role_policy::restart_role;
         roles[1].config.workers.max_restarts = 1;
       },
       "role 'rollout': on_failure restart-role is for workers with a world; replicas have "
       "restart-worker"},
      {[](auto& roles) {
         roles[1].has_world = false;
         roles[1].on_failure = role_policy::restart_worker;
       },
       "role 'rollout': on_failure restart-worker needs max_restarts of 1 or more"},
      {[](auto& roles) {
         roles[0].has_world = false;
         roles[1].config.standalone = false;
         roles[1].config.rendezvous.backend = "c10d";
         roles[1].config.rendezvous.max_nodes = 2;
       },
       "role 'rollout' ends on all nodes at the same time, and cannot stop with the replicas of "
       "role 'trainer', which end on each node for themselves"},
      {[](auto& roles) {
         roles[1].ready_at = elastic::role::readiness::port;
         roles[1].ready_port = "http";
       },
       "role 'rollout' is ready when its port 'http' is open, but there is no ${port.http} in its "
       "command"},
      {[](auto& roles) { roles[1].ready_port = "http"; },
       "role 'rollout': ready_port is allowed only with readiness port"},
      {[](auto& roles) { roles[0].config.workers.role = "actor"; },
       "role 'trainer': workers.role is set by the role_group"},
      {[](auto& roles) { roles[0].config.workers.log_dir = "/tmp"; },
       "role 'trainer': workers.log_dir is set by the role_group"},
      {[](auto& roles) { roles[0].config.workers.on_failure = elastic::failure_policy::replace; },
       "role 'trainer': workers.on_failure is set by the role_group"},
      {[](auto& roles) { roles[0].config.rendezvous.run_id = "job1"; },
       "role 'trainer': rendezvous.run_id is set by the role_group"},
      {[](auto& roles) {
         for (role& each : roles) each.config.standalone = false;
       },
       "roles 'trainer' and 'rollout' would both serve at 127.0.0.1:29500: each needs an endpoint "
       "with a port of its own"},
      {[](auto& roles) {
         for (role& each : roles) {
           each.config.standalone = false;
           each.config.rendezvous.backend = "c10d";
           each.config.rendezvous.endpoint = "host0:29400,host1,host2";
           each.config.rendezvous.max_nodes = 3;
         }
       },
       "roles 'trainer' and 'rollout' would both serve at host0:29400,host1,host2: each needs an "
       "endpoint with a port of its own"},
      {[](auto& roles) {
         for (role& each : roles) {
           each.config.standalone = false;
           each.config.rendezvous.backend = "c10d";
           each.config.rendezvous.max_nodes = 4;
         }
         roles[2].config.rendezvous.max_nodes = 2;
       },
       "role 'rollout' starts on each of its 4 nodes when role 'reward' is ready there, which has "
       "only 2"},
      {[](auto& roles) {
         for (role& each : roles) {
           each.config.standalone = false;
           each.config.rendezvous.backend = "c10d";
           each.config.rendezvous.max_nodes = 4;
         }
         roles[2].config.rendezvous.max_nodes = 1;
       },
       "role 'rollout' starts on each of its 4 nodes when role 'reward' is ready there, which has "
       "only 1"},
  };
  for (const row& each : rows) {
    CAPTURE(each.sentence);
    std::vector<role> roles = sound_roles();
    each.mistake(roles);
    CHECK_THROWS_WITH(validate(roles), each.sentence);
  }
}

TEST_CASE("roles: one of one node may meet where those of several nodes do", "[roles]") {
  std::vector<role> roles = sound_roles();
  for (role& each : roles) {
    each.config.standalone = false;
    each.config.rendezvous.backend = "c10d";
    each.config.rendezvous.endpoint = "host0:29400";
    each.config.rendezvous.max_nodes = 1;
  }
  roles[1].starts_after.clear();
  CHECK_THROWS_WITH(validate(roles),
                    elastic::test::contains_text("would both serve at host0:29400"));
  roles[0].config.rendezvous.max_nodes = 2;
  CHECK_NOTHROW(validate(roles));
}

TEST_CASE("roles: what a group cannot do is refused before it runs", "[roles]") {
  asio::io_context context;
  role_group::options options;
  options.roles = sound_roles();
  elastic::agent_services services;
  std::string sentence;
  SECTION("a role that its agent refuses") {
    options.roles[1].config.workers.nproc_per_node = 0;
    sentence = "role 'rollout': worker_spec::nproc_per_node is 0: 1 to ";
  }
  SECTION("replicas that check their node") {
    options.roles[1].has_world = false;
    options.roles[1].config.workers.node_check.command = "true";
    sentence = "role 'rollout': replicas have no node check";
  }
  SECTION("restarts of the job, of which there are none") {
    options.roles[0].on_failure = role_policy::restart_job;
    sentence = "role 'trainer': on_failure restart-job needs max_restarts of the job of 1 or more";
  }
  SECTION("a journal for all roles") {
    services.journal = std::make_shared<elastic::job_journal>(elastic::job_journal::options());
    sentence = "agent_services::journal is of one agent";
  }
  SECTION("several nodes without a name by which they meet") {
    options.roles[2].config.standalone = false;
    options.roles[2].config.rendezvous.backend = "c10d";
    options.roles[2].config.rendezvous.max_nodes = 2;
    sentence = "role 'reward' has several nodes: the job needs a run id";
  }
  CHECK_THROWS_WITH(role_group(context.get_executor(), options, services),
                    elastic::test::contains_text(sentence));
}

}  // namespace role_tests
