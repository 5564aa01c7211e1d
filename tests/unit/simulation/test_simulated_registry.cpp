// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs whose nodes meet at the agent that a registry names, such as a directory or etcd. Agents,
// handlers, leaders and coordinators are real; the registry, the network and the clocks are
// simulated.
//
//   ELASTIC_SIMULATION_SEEDS=10000 ELASTIC_SIMULATION_FIRST=1 unit_tests "simulation: a registry*"

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/job_file_registry.hpp>
#include <elastic/nodes/detail/leader_network.hpp>
#include <elastic/nodes/detail/leader_record.hpp>
#include <elastic/nodes/detail/leader_registry.hpp>
#include <elastic/nodes/detail/registry_connector.hpp>
#include <elastic/nodes/detail/registry_source.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/testing/simulated_network.hpp>
#include <support/catch.hpp>
#include <support/coordinated_job.hpp>
#include <support/keys_network.hpp>
#include <support/manual_time.hpp>
#include <support/simulated_mesh.hpp>
#include <support/simulation_seeds.hpp>
#include <support/task_outcome.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace simulated_registry_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::endpoint;
using elastic::rendezvous_handler;
using elastic::rendezvous_parameters;
using elastic::rendezvous_round;
using elastic::task;
using elastic::time_point;
using elastic::detail::c10d_rendezvous;
using elastic::detail::job_file_registry;
using elastic::detail::leader_registry;
using elastic::detail::registry_connector;
using elastic::detail::registry_source;
using elastic::test::manual_time;
using elastic::testing::simulated_network;
using elastic::test::simulated_mesh;
using elastic::test::simulated_node;

/// The way of one node's agent to those of others.
class mesh_network final : public elastic::detail::leader_network {
 public:
  /// @param servers  the nodes that have served, in the order of their places, which begin at 1
  mesh_network(simulated_mesh& over, int node, std::shared_ptr<std::vector<int>> servers)
      : mesh_(over), node_(node), servers_(std::move(servers)) {}

  task<endpoint> serve(std::shared_ptr<elastic::detail::store_extension> extension) override {
    servers_->push_back(node_);
    place_ = static_cast<std::uint16_t>(servers_->size());
    mesh_.serve(place_, node_, std::move(extension));
    endpoint at;
    at.host = "node" + std::to_string(node_);
    at.port = place_;
    co_return at;
  }
  task<void> stop() override {
    mesh_.close(place_);
    co_return;
  }
  void forget_rounds(const std::string&, std::int64_t) override {}
  std::shared_ptr<elastic::detail::message_connector> connector_to(endpoint at) override {
    return mesh_.connector_of(node_, at.port);
  }
  task<std::shared_ptr<elastic::store>> store_at(endpoint at) override {
    co_return mesh_.store_of(node_, at.port);
  }
  std::string address() const override { return "node" + std::to_string(node_); }

 private:
  simulated_mesh& mesh_;
  int node_;
  std::shared_ptr<std::vector<int>> servers_;
  std::uint16_t place_ = 0;
};

/// A registry, the ways to it and between the nodes, and the nodes' handlers.
class registry_world {
 public:
  /// @param grace  how long a leader leads that cannot reach the registry
  registry_world(manual_time& time, elastic::detail::random_source& random, duration grace)
      : mesh(time, random),
        keys(time, random),
        other_keys(time, random),
        shared_keys(time, random),
        grace_(grace) {}

  std::shared_ptr<rendezvous_handler> make_handler(int node, rendezvous_parameters parameters) {
    return make_handler(node, std::move(parameters), keys);
  }

  /// @param of_role  the keys of the run id
  std::shared_ptr<rendezvous_handler> make_handler(int node, rendezvous_parameters parameters,
                                                   simulated_network& of_role) {
    registry_connector::options options;
    options.run_id = parameters.run_id;
    options.settings = parameters.settings();
    options.registry_grace = grace_;
    options.registry = [&of_role, node] {
      return std::make_shared<leader_registry>(of_role.keys_of(node), std::nullopt);
    };
    const auto fingerprint = parameters.conf.find("fingerprint");
    if (fingerprint != parameters.conf.end()) {
      options.fingerprint = fingerprint->second;
      options.job_files =
          std::make_shared<job_file_registry>(shared_keys.keys_of(node), std::nullopt);
    }
    options.network = std::make_shared<mesh_network>(mesh, node, servers_);
    options.time = parameters.time;
    options.log = parameters.log;
    registry_source::maker make = [options]() -> task<std::shared_ptr<registry_connector>> {
      co_return std::make_shared<registry_connector>(options);
    };
    auto leaders = std::make_shared<registry_source>(parameters.backend, "the registry",
                                                     std::move(make));
    return std::make_shared<c10d_rendezvous>(std::move(parameters), std::move(leaders));
  }

  /// Whether the node has led, or was about to.
  bool has_served(int node) const {
    return std::find(servers_->begin(), servers_->end(), node) != servers_->end();
  }

  void end() {
    keys.end();
    other_keys.end();
    shared_keys.end();
    mesh.end();
  }

  simulated_mesh mesh;
  elastic::test::keys_network keys;
  /// Those of another role, and those of the whole job.
  elastic::test::keys_network other_keys;
  elastic::test::keys_network shared_keys;

 private:
  duration grace_;
  std::shared_ptr<std::vector<int>> servers_ = std::make_shared<std::vector<int>>();
};

/// The leader of another job, which writes a key of its own to the same registry.
task<void> write_often(manual_time& time, simulated_network& registry, const bool& is_over) {
  constexpr int its_node = -1;
  const auto keys = registry.keys_of(its_node);
  const std::string key = "neighbour";
  while (!is_over) {
    try {
      co_await keys->put(key, key);
    } catch (const elastic::error&) {  // the registry is away, or the answer was lost
    }
    co_await time.sleep_until(time.now() + 3s);
  }
}

class registry_job final : public elastic::test::coordinated_job {
 public:
  registry_job(manual_time& time, std::uint64_t seed)
      : coordinated_job(time, seed), world_(time, random_, 10s) {
    if (random_.below(2) == 0) keys_.lose_one_in(1 + random_.below(20));
    if (random_.below(2) == 0) keys_.skip_one_in(1 + random_.below(5));
    // A shared directory, or an etcd that other jobs use, too.
    if (random_.below(2) == 0) {
      if (random_.below(2) == 0) keys_.delay_entries(200ms);
    } else {
      keys_.share_revision();
      spawn(write_often(time_, keys_, over_));
    }
  }

 private:
  std::shared_ptr<rendezvous_handler> make_handler(simulated_node& node,
                                                   rendezvous_parameters parameters) override {
    parameters.log = log_of(node);
    return world_.make_handler(node.id, std::move(parameters));
  }

  // ---- troubles -------------------------------------------------------------------------------

  int kinds_of_trouble() const override { return 10; }
  task<void> trouble(simulated_node& node, duration span) override {
    const std::uint64_t kind = random_.below(10);
    switch (kind) {
      case 0:
      case 1:
        note(fmt::format("node {} is cut off from the others{}", node.id,
                         kind == 0 ? " and the registry" : ""));
        if (random_.below(3) == 0) span *= 3;
        mesh_.part(node.id);
        if (kind == 0) keys_.part(node.id);
        co_await time_.sleep_until(time_.now() + span);
        note(fmt::format("node {} is reached again", node.id));
        if (!node.crashed) mesh_.mend(node.id);
        keys_.mend(node.id);
        break;
      case 2:
        note(fmt::format("node {} is cut off from the registry", node.id));
        if (random_.below(2) == 0) span *= 3;
        keys_.part(node.id);
        co_await time_.sleep_until(time_.now() + span);
        note(fmt::format("node {} reaches the registry again", node.id));
        keys_.mend(node.id);
        break;
      case 3:
      case 4:
        if (random_.below(2) == 0) span *= 2;
        note(fmt::format("the registry is away for {} s",
                         std::chrono::duration<double>(span).count()));
        keys_.stall(span);
        break;
      case 5:
      case 6:
        note(fmt::format("node {} loses its connections", node.id));
        mesh_.reset_both_ends(node.id);
        break;
      case 7:
        note(fmt::format("one end of a connection of node {} breaks", node.id));
        mesh_.break_one_end(node.id, span / 4);
        break;
      case 8: stop(node, span); break;
      default: node.clock->wall_offset = span * 1000;
    }
  }

  void cut_for_good(simulated_node& node) override {
    keys_.kill(node.id);
    // A host without power tells nobody.
    if (random_.below(3) == 0) {
      mesh_.part(node.id);
    } else {
      mesh_.kill(node.id);
    }
  }
  void end_troubles() override {
    keys_.heal();
    for (const auto& node : nodes_) {
      if (!node->crashed) mesh_.mend(node->id);
    }
  }
  void close_up() override { world_.end(); }

  // A leader that cannot reach the registry at the end takes the knowledge of it along: nodes that
  // it has not told begin the job again.
  void note_knowledge(simulated_node& node) override {
    coordinated_job::note_knowledge(node);
    if (world_.has_served(node.id) && keys_.is_cut_off(node.id)) {
      if (node.round) lost_terms_.insert(node.round->term);
      for (const auto& each : nodes_) {
        if (each->ended) each->is_informed = false;
      }
      node.is_informed = false;
    }
    if (node.round && lost_terms_.contains(node.round->term)) node.is_informed = false;
  }

  registry_world world_;
  simulated_mesh& mesh_ = world_.mesh;
  simulated_network& keys_ = world_.keys;
  /// The terms of leaders that ended when they could not reach the registry.
  std::set<std::int64_t> lost_terms_;
};

TEST_CASE("simulation: a registry names one leader after the other, and the job stays whole",
          "[simulation]") {
  elastic::test::run_seeds<registry_job>("simulation: a registry*");
}

TIME_TEST("registry: a job that goes on asks it once in 5 s at most, however many its nodes are",
          "[rendezvous]") {
  elastic::detail::random_source random{1};
  // As by default.
  registry_world world(time, random, 60s);
  const int count = GENERATE(1, 8);
  std::vector<std::shared_ptr<rendezvous_handler>> nodes;
  std::vector<std::shared_ptr<elastic::test::task_outcome<rendezvous_round>>> rounds;
  for (int node = 0; node < count; ++node) {
    rendezvous_parameters parameters;
    parameters.run_id = "job";
    parameters.min_nodes = parameters.max_nodes = count;
    parameters.share_worker_store = false;
    parameters.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time);
    nodes.push_back(world.make_handler(node, std::move(parameters)));
    rounds.push_back(elastic::test::start(time, nodes.back()->next_round()));
  }
  co_await time.sleep_until(time.now() + 10s);
  for (const auto& round : rounds) REQUIRE(round->value);
  const std::uint64_t before = world.keys.requests();
  co_await time.sleep_until(time.now() + 1000s);
  const std::uint64_t requests = world.keys.requests() - before;
  CHECK(requests <= 200);
  CHECK(requests >= 50);
  for (const auto& node : nodes) co_await node->shutdown();
  world.end();
  co_await time.sleep_until(time.now() + 10s);
}

TIME_TEST("registry: the last node takes over after the lease, however often other jobs write",
          "[rendezvous]") {
  elastic::detail::random_source random{1};
  registry_world world(time, random, 60s);
  bool is_over = false;
  const bool is_etcd = GENERATE(false, true);
  if (is_etcd) world.keys.share_revision();
  asio::co_spawn(time.context(), write_often(time, world.keys, is_over), asio::detached);
  std::vector<std::shared_ptr<rendezvous_handler>> nodes;
  std::vector<std::shared_ptr<elastic::test::task_outcome<rendezvous_round>>> rounds;
  for (int node = 0; node < 3; ++node) {
    rendezvous_parameters parameters;
    parameters.run_id = "job";
    parameters.min_nodes = 1;
    parameters.max_nodes = 3;
    parameters.share_worker_store = false;
    parameters.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time);
    nodes.push_back(world.make_handler(node, std::move(parameters)));
    rounds.push_back(elastic::test::start(time, nodes.back()->next_round()));
  }
  co_await time.sleep_until(time.now() + 10s);
  for (const auto& round : rounds) REQUIRE(round->value);

  // Two hosts lose their power at once, and one of them led the job unless the last one does.
  const int last = GENERATE(0, 1, 2);
  for (int node = 0; node < 3; ++node) {
    if (node == last) continue;
    world.mesh.part(node);
    world.keys.part(node);
  }
  const auto change = elastic::test::start(time, nodes[last]->wait_for_change());
  co_await time.sleep_until(time.now() + 30s);
  REQUIRE(change->value);
  const auto next = elastic::test::start(time, nodes[last]->next_round());
  co_await time.sleep_until(time.now() + 120s);
  REQUIRE(next->value);
  CHECK(next->value->group_world_size == 1);

  is_over = true;
  world.end();
  for (const auto& node : nodes) {
    elastic::test::start(time, elastic::test::passed(node->shutdown()));
  }
  co_await time.sleep_until(time.now() + 1min);
}

// ---- one fault at a time ------------------------------------------------------------------------

/// A job whose nodes do what the test says. The first of them leads.
class scripted_job {
 public:
  scripted_job(manual_time& time, int min_nodes, int max_nodes, std::uint64_t seed = 1)
      : time_(time), random_{seed} {
    parameters.run_id = "job";
    parameters.min_nodes = min_nodes;
    parameters.max_nodes = max_nodes;
    parameters.share_worker_store = false;
    parameters.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time);
  }

  /// Another node takes part.
  void begin() {
    handlers.push_back(world.make_handler(static_cast<int>(handlers.size()), parameters));
    rounds.emplace_back();
    changes.emplace_back();
    meet(static_cast<int>(handlers.size()) - 1);
  }
  /// So many nodes take part, one after the other.
  task<void> begin(int count) {
    for (int node = 0; node < count; ++node) {
      begin();
      co_await pass(10s);
    }
  }
  /// The node has no workers any more.
  void meet(int node) {
    changes[node].reset();
    rounds[node] = elastic::test::start(time_, handlers[node]->next_round());
  }

  task<void> pass(duration span) { return time_.sleep_until(time_.now() + span); }
  /// The same. Nodes whose round ends meanwhile stop their workers and meet at once, unless their
  /// workers cannot be stopped.
  task<void> run(duration span) {
    const time_point end = time_.now() + span;
    while (time_.now() < end) {
      for (int node = 0; node < static_cast<int>(handlers.size()); ++node) {
        if (!rounds[node]->value || stuck.count(node) != 0) continue;
        if (!changes[node]) {
          changes[node] = elastic::test::start(time_, handlers[node]->wait_for_change());
        }
        if (changes[node]->value) meet(node);
      }
      co_await pass(10ms);
    }
  }

  /// What the registry has.
  task<elastic::detail::leader_record> record() {
    leader_registry registry(world.keys.keys_of(reader), std::nullopt);
    const leader_registry::sight seen = co_await registry.look();
    co_return seen.record.value_or(elastic::detail::leader_record());
  }

  /// Whoever waits waits no more.
  task<void> end() {
    world.end();
    for (const auto& handler : handlers) {
      elastic::test::start(time_, elastic::test::passed(handler->shutdown()));
    }
    return pass(1min);
  }

  rendezvous_parameters parameters;
  /// The nodes whose workers cannot be stopped.
  std::set<int> stuck;
  std::vector<std::shared_ptr<rendezvous_handler>> handlers;
  std::vector<std::shared_ptr<elastic::test::task_outcome<rendezvous_round>>> rounds;
  std::vector<std::shared_ptr<elastic::test::task_outcome<elastic::rendezvous_change>>> changes;

 private:
  static constexpr int reader = -2;

  manual_time& time_;
  elastic::detail::random_source random_;

 public:
  registry_world world{time_, random_, 60s};
};

TIME_TEST("registry: a node that stood by has its whole time for a place, whoever leads",
          "[rendezvous]") {
  scripted_job job(time, 2, 2);
  job.parameters.join_timeout = 60s;
  co_await job.begin(3);
  REQUIRE(job.rounds[0]->value);
  REQUIRE(job.rounds[1]->value);
  co_await job.pass(300s);
  REQUIRE_FALSE(job.rounds[2]->ended);
  co_await job.handlers[0]->shutdown();
  // The workers of the other one save what they have.
  co_await job.pass(35s);
  INFO(job.rounds[2]->what());
  CHECK_FALSE(job.rounds[2]->ended);
  job.meet(1);
  co_await job.pass(10s);
  CHECK(job.rounds[1]->value);
  CHECK(job.rounds[2]->value);
  co_await job.end();
}

TIME_TEST("registry: a node that is cut off does not lead while others follow the leader",
          "[rendezvous]") {
  // One of them reads the claims.
  for (const int cut_off : {1, 2}) {
    INFO(cut_off);
    scripted_job job(time, 2, 3);
    job.parameters.reconnect_grace = 5s;
    co_await job.begin(3);
    for (const auto& round : job.rounds) REQUIRE(round->value);
    const std::int64_t term = job.rounds[0]->value->term;
    // It reaches the registry, and the leader waits for its return.
    job.world.mesh.reset_both_ends(cut_off);
    job.world.mesh.part(cut_off);
    co_await job.run(60s);
    for (const int node : {0, 3 - cut_off}) {
      REQUIRE(job.rounds[node]->value);
      CHECK(job.rounds[node]->value->term == term);
      CHECK(job.rounds[node]->value->group_world_size == 2);
    }
    co_await job.end();
  }
}

TIME_TEST("registry: a round is there before its nodes learn of it, even if an answer is lost",
          "[rendezvous]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO(seed);
    scripted_job job(time, 2, 2, seed);
    job.begin();
    // A write is due every 20 s.
    co_await job.pass(19s);
    job.world.keys.part(0);
    const elastic::detail::leader_record before = co_await job.record();
    co_await job.pass(2s);
    // The round is complete while that write is on its way. Its answer is lost, so that the next
    // one is made in vain.
    job.begin();
    co_await job.pass(1s);
    job.world.keys.lose_one_in(1);
    job.world.keys.mend(0);
    while (true) {
      const elastic::detail::leader_record seen = co_await job.record();
      if (seen.kept.sequence != before.kept.sequence) break;
    }
    job.world.keys.lose_one_in(0);
    REQUIRE_FALSE(job.rounds[1]->value);
    while (!job.rounds[1]->value) co_await job.pass(1ms);
    const elastic::detail::leader_record seen = co_await job.record();
    CHECK(seen.kept.members.size() == 2);
    co_await job.end();
  }
}

TIME_TEST("registry: a node that has claimed that it lost the leader takes no place in that round",
          "[rendezvous]") {
  scripted_job job(time, 3, 3);
  job.parameters.reconnect_grace = 12s;
  co_await job.begin(2);
  // The round is complete, and the registry gets to know of it after this node has gone.
  job.world.keys.part(0);
  job.begin();
  co_await job.pass(3s);
  job.world.mesh.reset_both_ends(1);
  job.world.mesh.part(1);
  job.world.keys.mend(0);
  co_await job.pass(1s);
  REQUIRE(job.rounds[0]->value);
  REQUIRE_FALSE(job.rounds[1]->ended);
  co_await job.pass(5s);
  job.world.mesh.mend(1);
  co_await job.run(30s);
  for (const auto& round : job.rounds) {
    REQUIRE(round->value);
    CHECK(round->value->round == 1);
  }
  co_await job.end();
}

TIME_TEST("registry: the workers of a leader that is cut off are gone when another one leads",
          "[rendezvous]") {
  scripted_job job(time, 2, 3);
  job.parameters.reconnect_grace = 5s;
  co_await job.begin(3);
  for (const auto& round : job.rounds) REQUIRE(round->value);
  job.stuck = {0};
  const auto fence =
      elastic::test::start(time, elastic::test::passed(job.handlers[0]->wait_for_fence()));
  for (const int node : {1, 2}) job.world.mesh.reset_both_ends(node);
  job.world.mesh.part(0);
  job.world.keys.part(0);
  const std::int64_t term = job.rounds[1]->value->term;
  const auto has_next = [&] {
    return job.rounds[1]->value && job.rounds[1]->value->term != term;
  };
  while (!fence->ended && !has_next()) co_await job.run(10ms);
  CHECK(fence->ended);
  CHECK_FALSE(has_next());
  co_await job.run(30s);
  CHECK(has_next());
  co_await job.end();
}

TIME_TEST("registry: who follows a leader that waited for the former one's workers waits as well",
          "[rendezvous]") {
  scripted_job job(time, 2, 4);
  job.parameters.reconnect_grace = 5s;
  co_await job.begin(4);
  for (const auto& round : job.rounds) REQUIRE(round->value);
  // The first leader may take as long as the others to see that it has lost them.
  job.stuck = {0};
  job.world.mesh.part(0);
  job.world.keys.part(0);
  while (job.world.mesh.serving_nodes().size() < 2) co_await job.run(10ms);
  const time_point begin = time.now();
  const int next = job.world.mesh.serving_nodes().rbegin()->second;
  REQUIRE(next != 0);
  co_await job.run(1s);
  co_await job.handlers[next]->shutdown();
  const int last = next == 3 ? 2 : 3;
  const duration wait = job.parameters.silence() + job.parameters.reconnect_grace;
  co_await job.run(begin + wait - time.now());
  CHECK_FALSE(job.rounds[last]->ended);
  co_await job.run(30s);
  REQUIRE(job.rounds[last]->value);
  CHECK(job.rounds[last]->value->group_world_size == 2);
  co_await job.end();
}

TIME_TEST("registry: a node that ends the job stays until the leader knows", "[rendezvous]") {
  scripted_job job(time, 1, 2);
  co_await job.begin(2);
  for (const auto& round : job.rounds) REQUIRE(round->value);
  job.world.mesh.reset_both_ends(1);
  co_await job.handlers[1]->close(rendezvous_handler::job_end::failed, "it failed");
  co_await job.handlers[1]->shutdown();
  job.meet(0);
  co_await job.pass(5s);
  CHECK(job.rounds[0]->code() == elastic::errc::rendezvous_closed);
  co_await job.end();
}

// ---- roles whose leaders compare their job files ------------------------------------------------

/// Two nodes, each of which begins a role of a job from a file.
class two_roles {
 public:
  two_roles(manual_time& time, std::uint64_t seed) : time_(time), random_{seed} {}

  simulated_network& shared_keys() { return world_.shared_keys; }
  simulated_mesh& mesh() { return world_.mesh; }

  /// A node of number 0 or 1 begins its role.
  void begin(int node, const std::string& fingerprint) {
    rendezvous_parameters parameters;
    parameters.run_id = node == 0 ? "job/trainer" : "job/learner";
    parameters.min_nodes = 1;
    parameters.max_nodes = 2;
    parameters.share_worker_store = false;
    parameters.conf["fingerprint"] = fingerprint;
    parameters.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time_);
    handlers[node] = world_.make_handler(node, std::move(parameters),
                                         node == 0 ? world_.keys : world_.other_keys);
    rounds[node] = elastic::test::start(time_, handlers[node]->next_round());
  }

  /// Runs for as long as it takes to begin a role, or to be refused.
  task<void> pass() { return time_.sleep_until(time_.now() + 50s); }

  task<void> end() {
    world_.end();
    for (const auto& handler : handlers) {
      if (handler) elastic::test::start(time_, elastic::test::passed(handler->shutdown()));
    }
    return time_.sleep_until(time_.now() + 1min);
  }

  std::shared_ptr<rendezvous_handler> handlers[2];
  std::shared_ptr<elastic::test::task_outcome<rendezvous_round>> rounds[2];

 private:
  manual_time& time_;
  elastic::detail::random_source random_;
  registry_world world_{time_, random_, 60s};
};

TIME_TEST("registry: of two roles that begin at once from different files, one is refused",
          "[rendezvous]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    INFO(seed);
    two_roles job(time, seed);
    if (seed % 2 == 0) job.shared_keys().lose_one_in(3);
    job.begin(0, "a=1 role.trainer=2");
    job.begin(1, "a=1 role.learner=3");
    co_await job.pass();
    const int winner = job.rounds[0]->value ? 0 : 1;
    const int loser = 1 - winner;
    CHECK(job.rounds[winner]->value);
    CHECK_FALSE(job.rounds[loser]->value);
    CHECK(job.rounds[loser]->code() == elastic::errc::invalid_argument);
    const std::string running = winner == 0 ? "job/trainer" : "job/learner";
    CHECK(job.rounds[loser]->what().find("the job '" + running + "' was started with a different "
                                         "job file than this node") == 0);
    co_await job.end();
  }
}

TIME_TEST("registry: two roles from one file begin at once", "[rendezvous]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    INFO(seed);
    two_roles job(time, seed);
    if (seed % 2 == 0) job.shared_keys().lose_one_in(3);
    for (const int node : {0, 1}) job.begin(node, "a=1 role.trainer=2 role.learner=3");
    co_await job.pass();
    for (const int node : {0, 1}) CHECK(job.rounds[node]->value);
    job_file_registry files(job.shared_keys().keys_of(0), std::nullopt);
    const job_file_registry::sight seen = co_await files.look();
    REQUIRE(seen.record);
    CHECK(seen.record->leaders.size() == 2);
    co_await job.end();
  }
}

TIME_TEST("registry: a role begins from another file when the former leaders are gone",
          "[rendezvous]") {
  two_roles job(time, 1);
  job.begin(0, "a=1");
  co_await job.pass();
  REQUIRE(job.rounds[0]->value);
  // A host without power tells nobody, and a node that leaves does.
  const bool is_lost = GENERATE(false, true);
  if (is_lost) {
    job.mesh().part(0);
  } else {
    co_await job.handlers[0]->shutdown();
  }
  job.begin(1, "a=2");
  co_await job.pass();
  CHECK(job.rounds[1]->value);
  co_await job.end();
}

TIME_TEST("registry: a role begins when the keys of its job can be reached", "[rendezvous]") {
  two_roles job(time, 1);
  job.shared_keys().part(0);
  job.begin(0, "a=1");
  co_await job.pass();
  CHECK_FALSE(job.rounds[0]->ended);
  job.shared_keys().mend(0);
  co_await job.pass();
  CHECK(job.rounds[0]->value);
  co_await job.end();
}

}  // namespace simulated_registry_tests
