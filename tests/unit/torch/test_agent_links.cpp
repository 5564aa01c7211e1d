// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/torch/dynamic_rendezvous.hpp>

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/file/file_rendezvous.hpp>
#include <elastic/rendezvous/native/rendezvous_message.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/mesh_links.hpp>
#include <support/simulated_mesh.hpp>
#include <support/simulated_place.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Nodes that meet at a place, and whose agents are connected with each other.
namespace agent_links_tests {

using namespace std::chrono_literals;
using elastic::change_kind;
using elastic::duration;
using elastic::dynamic_rendezvous;
using elastic::rendezvous_change;
using elastic::rendezvous_round;
using elastic::task;
using elastic::test::manual_time;
using elastic::test::mesh_links;
using elastic::test::simulated_mesh;
using elastic::test::simulated_place;

constexpr duration second = 1s;

/// Of a server that takes nobody in.
class refusing_channel final : public elastic::message_channel {
 public:
  void send(std::string) override {}
  task<std::string> receive() override {
    co_return elastic::to_text(elastic::rendezvous_messages::refused{false, "version 4"});
  }
  task<void> flush() override { co_return; }
  void close() override {}
  std::string local_address() const override { return "node1"; }
  std::string remote_address() const override { return "node0"; }
};

class refusing_connector final : public elastic::message_connector {
 public:
  task<std::shared_ptr<elastic::message_channel>> connect() override {
    co_return std::make_shared<refusing_channel>();
  }
  std::string name() const override { return "node0"; }
};

/// Nodes 0, 1, 2, …, whose ranks have that order.
class job {
 public:
  job(manual_time& time, int min_nodes, int max_nodes)
      : time_(time), min_(min_nodes), max_(max_nodes) {}
  ~job() {
    place_.end();
    mesh_.end();
  }
  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// @param grace  its `reconnect_grace`, in seconds
  void add(bool is_linked = true, const std::string& grace = "0.3") {
    const int node = static_cast<int>(nodes_.size());
    elastic::dynamic_rendezvous_options options;
    options.parameters.backend = "etcd-v3";
    options.parameters.endpoint = "there";
    options.parameters.run_id = "job";
    options.parameters.min_nodes = min_;
    options.parameters.max_nodes = max_;
    options.parameters.share_worker_store = false;
    options.parameters.conf["reconnect_grace"] = grace;
    options.parameters.time =
        std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time_);
    options.backend = place_.backend_of(node, options.parameters.time);
    options.agents = place_.store_of(node);
    options.node = {"host" + std::to_string(node), node, 0};
    if (is_linked) {
      options.links = std::make_shared<links>(mesh_, node, last_place_, refused_nodes_);
    }
    nodes_.push_back(std::make_shared<dynamic_rendezvous>(std::move(options)));
  }

  dynamic_rendezvous& operator[](int node) { return *nodes_.at(static_cast<std::size_t>(node)); }

  /// The next round of these nodes.
  template <class... Nodes>
  task<std::vector<rendezvous_round>> meet(Nodes... nodes) {
    std::vector<int> numbers;
    (numbers.push_back(nodes), ...);
    return meet_all(std::move(numbers));
  }

  task<std::vector<rendezvous_round>> meet_all(std::vector<int> nodes) {
    std::map<int, rendezvous_round> rounds;
    elastic::task_group group(co_await asio::this_coro::executor);
    for (const int node : nodes) group.spawn(meet_alone(node, rounds));
    co_await group.wait();
    std::vector<rendezvous_round> result;
    for (auto& [node, round] : rounds) result.push_back(std::move(round));
    co_return result;
  }

  task<void> meet_into(std::vector<rendezvous_round>& rounds, std::vector<int> nodes) {
    rounds = co_await meet_all(std::move(nodes));
  }

  void kill(int node) {
    place_.kill(node);
    mesh_.kill(node);
  }
  simulated_mesh& mesh() { return mesh_; }
  simulated_place& place() { return place_; }
  bool is_served(int place) const { return mesh_.is_served(place); }

  /// The node of rank 0 takes the node in no more.
  void refuse(int node) { refused_nodes_->insert(node); }

 private:
  class links final : public elastic::detail::link_network {
   public:
    links(simulated_mesh& network, int node, std::shared_ptr<std::uint16_t> last_place,
          std::shared_ptr<std::set<int>> refused_nodes)
        : links_(network, node, std::move(last_place)),
          node_(node),
          refused_nodes_(std::move(refused_nodes)) {}
    task<elastic::endpoint> serve(std::shared_ptr<elastic::store_extension> extension) override {
      return links_.serve(std::move(extension));
    }
    task<void> stop() override { return links_.stop(); }
    std::shared_ptr<elastic::message_connector> connector_to(elastic::endpoint server) override {
      if (refused_nodes_->count(node_) == 0) return links_.connector_to(std::move(server));
      return std::make_shared<refusing_connector>();
    }
    std::string address() const override { return links_.address(); }

   private:
    mesh_links links_;
    int node_;
    std::shared_ptr<std::set<int>> refused_nodes_;
  };

  task<void> meet_alone(int node, std::map<int, rendezvous_round>& rounds) {
    rendezvous_round round = co_await nodes_.at(static_cast<std::size_t>(node))->next_round();
    rounds[node] = std::move(round);
  }

  manual_time& time_;
  int min_;
  int max_;
  elastic::detail::random_source random_{7};
  simulated_place place_{
      time_, random_,         simulated_place::manner::leased, elastic::torch_dialect::torch_2_6,
      15s,   [](auto&&...) {}};
  simulated_mesh mesh_{time_, random_};
  std::shared_ptr<std::uint16_t> last_place_ = std::make_shared<std::uint16_t>(0);
  std::shared_ptr<std::set<int>> refused_nodes_ = std::make_shared<std::set<int>>();
  std::vector<std::shared_ptr<dynamic_rendezvous>> nodes_;
};

/// A job under virtual time; what its nodes run at the end is dropped.
void run(std::function<task<void>(manual_time&)> body) {
  asio::io_context context;
  manual_time time(context);
  time.run(body(time));
}

task<void> hear(dynamic_rendezvous& node, std::optional<rendezvous_change>& change) {
  change = co_await node.wait_for_change();
}

void check_world(const std::vector<rendezvous_round>& rounds, std::size_t size, int restarts) {
  REQUIRE(rounds.size() == size);
  for (std::size_t rank = 0; rank < size; ++rank) {
    CHECK(rounds[rank].round == rounds[0].round);
    CHECK(rounds[rank].group_rank == static_cast<int>(rank));
    CHECK(rounds[rank].group_world_size == static_cast<int>(size));
    CHECK(rounds[rank].restarts == restarts);
  }
}

task<void> lose_node(manual_time& time) {
  job nodes(time, 2, 3);
  for (int node = 0; node < 3; ++node) nodes.add();
  check_world(co_await nodes.meet(0, 1, 2), 3, 0);
  // A node's second connection comes after its first.
  co_await time.sleep_until(time.now() + 10ms);
  const auto begin = time.now();
  nodes.kill(2);
  const std::vector<int> survivors = {0, 1};
  for (const int node : survivors) {
    const rendezvous_change change = co_await nodes[node].wait_for_change();
    CHECK(change.kind == change_kind::node_lost);
    CHECK(change.restarts == 0);
  }
  CHECK(time.now() - begin < 600ms);
  // Nobody waits for the last call either, since they know each other.
  check_world(co_await nodes.meet(0, 1), 2, 0);
  CHECK(time.now() - begin < second);
}

TEST_CASE("agent links: a node that dies is known to all at once, and they go on", "[rendezvous]") {
  run(lose_node);
}

task<void> lose_host(manual_time& time) {
  job nodes(time, 2, 3);
  for (int node = 0; node < 3; ++node) nodes.add();
  check_world(co_await nodes.meet(0, 1, 2), 3, 0);
  const auto begin = time.now();
  nodes.kill(0);
  const std::vector<int> survivors = {1, 2};
  for (const int node : survivors) {
    const rendezvous_change change = co_await nodes[node].wait_for_change();
    CHECK(change.kind == change_kind::node_lost);
    CHECK(change.grace < 300ms);
  }
  check_world(co_await nodes.meet(1, 2), 2, 0);
  CHECK(time.now() - begin < second);
  CHECK(time.now() - begin > 500ms);
}

TEST_CASE("agent links: the node of rank 0 dies, and nobody waits for its lease", "[rendezvous]") {
  run(lose_host);
}

task<void> lose_host_of_other_grace(manual_time& time) {
  job nodes(time, 1, 3);
  nodes.add(true, "2");
  nodes.add();
  nodes.add();
  co_await nodes.meet(0, 1, 2);
  const auto begin = time.now();
  nodes.kill(0);
  check_world(co_await nodes.meet(1, 2), 2, 0);
  // Had it lived, and only lost them, its workers would run for three quarters of its own.
  CHECK(time.now() - begin > 2s);
  CHECK(time.now() - begin < 5s);
}

TEST_CASE("agent links: the grace of the node of rank 0 counts, if it is longer", "[rendezvous]") {
  run(lose_host_of_other_grace);
}

TEST_CASE("agent links: a grace in which no process can be gone is refused", "[rendezvous]") {
  elastic::rendezvous_parameters parameters;
  parameters.backend = "file";
  parameters.endpoint = "somewhere";
  parameters.run_id = "job";
  parameters.conf["reconnect_grace"] = "0.2";
  CHECK_THROWS_WITH(elastic::make_file_rendezvous(parameters),
                    elastic::test::contains_text("at least 0.25 s, or links=no"));
  parameters.conf["links"] = "no";
  CHECK_NOTHROW(elastic::make_file_rendezvous(parameters));
}

task<void> refuse_for_good(manual_time& time) {
  job nodes(time, 2, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  nodes.refuse(1);
  const auto begin = time.now();
  std::string problem;
  try {
    co_await nodes.meet(0, 1);
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::invalid_argument);
    problem = failure.what();
  }
  INFO(problem);
  CHECK(problem.find("rank 0 at node0:") != std::string::npos);
  CHECK(problem.find("does not take this one in") != std::string::npos);
  CHECK(time.now() - begin < 60s);
}

TEST_CASE("agent links: who is never taken in ends with an error", "[rendezvous]") {
  run(refuse_for_good);
}

task<void> lose_host_of_two(manual_time& time) {
  job nodes(time, 1, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  check_world(co_await nodes.meet(0, 1), 2, 0);
  const auto begin = time.now();
  nodes.kill(0);
  co_await nodes[1].wait_for_change();
  check_world(co_await nodes.meet(1), 1, 0);
  CHECK(time.now() - begin < second);
}

TEST_CASE("agent links: of two nodes either may die", "[rendezvous]") { run(lose_host_of_two); }

task<void> break_host_off(manual_time& time) {
  job nodes(time, 1, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  co_await nodes.meet(0, 1);
  const auto begin = time.now();
  nodes.mesh().bar(0);
  nodes.mesh().reset(0);
  // Both live: each has its workers killed before the other could go on.
  co_await nodes[0].wait_for_fence();
  CHECK(time.now() - begin < 300ms);
  co_await nodes[1].wait_for_fence();
  CHECK(time.now() - begin < 300ms);
}

TEST_CASE("agent links: nodes that lose each other both have their workers killed",
          "[rendezvous]") {
  run(break_host_off);
}

task<void> claim_live_host(manual_time& time) {
  job nodes(time, 1, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  const std::vector<rendezvous_round> rounds = co_await nodes.meet(0, 1);
  const auto begin = time.now();
  const std::string key = "elastic/lost/1";
  const std::string text = "1";
  co_await rounds[1].agents->set(key, text);
  co_await nodes[0].wait_for_fence();
  CHECK(time.now() - begin < 200ms);
  const rendezvous_change change = co_await nodes[0].report_failure("rank 0 ended: signal 9");
  CHECK(change.kind == change_kind::node_lost);
  CHECK(change.restarts == 0);
}

TEST_CASE("agent links: the node of rank 0 hears at the place that all others have lost it",
          "[rendezvous]") {
  run(claim_live_host);
}

task<void> fail_worker(manual_time& time) {
  job nodes(time, 3, 3);
  for (int node = 0; node < 3; ++node) nodes.add();
  co_await nodes.meet(0, 1, 2);
  const auto begin = time.now();
  const rendezvous_change own_change =
      co_await nodes[1].report_failure("rank 1 ended: exit code 1");
  CHECK(own_change.kind == change_kind::worker_failed);
  CHECK(own_change.restarts == 1);
  CHECK_FALSE(own_change.on_other_node);
  const std::vector<int> other_nodes = {0, 2};
  for (const int node : other_nodes) {
    const rendezvous_change change = co_await nodes[node].wait_for_change();
    CHECK(change.kind == change_kind::worker_failed);
    CHECK(change.restarts == 1);
    CHECK(change.on_other_node);
  }
  // Long before the node that failed has stopped its other workers.
  CHECK(time.now() - begin < second);
  check_world(co_await nodes.meet(0, 1, 2), 3, 1);
}

TEST_CASE("agent links: workers that fail are known to all at once, and count once",
          "[rendezvous]") {
  run(fail_worker);
}

task<void> fail_at_slow_place(manual_time& time) {
  job nodes(time, 2, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  nodes.place().slow_down(1100ms);
  co_await nodes.meet(0, 1);
  for (int failures = 1; failures <= 2; ++failures) {
    const rendezvous_change change = co_await nodes[1].report_failure("rank 1 ended: exit code 1");
    CHECK(change.restarts == failures);
    check_world(co_await nodes.meet(0, 1), 2, failures);
  }
}

TEST_CASE("agent links: failures are counted however slow the place is where the nodes meet",
          "[rendezvous]") {
  run(fail_at_slow_place);
}

task<void> lose_two_at_slow_place(manual_time& time) {
  job nodes(time, 1, 3);
  for (int node = 0; node < 3; ++node) nodes.add();
  co_await nodes.meet(0, 1, 2);
  nodes.place().slow_down(400ms);
  nodes.kill(1);
  co_await nodes[0].wait_for_change();
  const auto begin = time.now();
  elastic::task_group group(co_await asio::this_coro::executor);
  std::vector<rendezvous_round> rounds;
  group.spawn(nodes.meet_into(rounds, {0}));
  co_await time.sleep_until(begin + 800ms);
  nodes.kill(2);
  co_await group.wait();
  check_world(rounds, 1, 0);
  // Neither lease is waited for.
  CHECK(time.now() - begin < 10s);
}

TEST_CASE("agent links: of two that die one after the other neither is waited for",
          "[rendezvous]") {
  run(lose_two_at_slow_place);
}

task<void> fail_because_of_loss(manual_time& time) {
  job nodes(time, 2, 3);
  for (int node = 0; node < 3; ++node) nodes.add();
  co_await nodes.meet(0, 1, 2);
  nodes.kill(2);
  co_await time.sleep_until(time.now() + 150ms);
  const rendezvous_change change = co_await nodes[1].report_failure("rank 1 ended: exit code 1");
  CHECK(change.kind == change_kind::node_lost);
  check_world(co_await nodes.meet(0, 1), 2, 0);
}

TEST_CASE("agent links: workers that fail because a node died cost no restart", "[rendezvous]") {
  run(fail_because_of_loss);
}

task<void> lose_finished_node(manual_time& time) {
  job nodes(time, 1, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  co_await nodes.meet(0, 1);
  elastic::task_group group(co_await asio::this_coro::executor);
  group.spawn(nodes[1].exit_barrier());
  co_await time.sleep_until(time.now() + 1s);
  co_await group.stop();
  const auto begin = time.now();
  nodes.kill(1);
  const rendezvous_change change = co_await nodes[0].wait_for_change();
  CHECK(change.kind == change_kind::node_lost);
  CHECK(change.restarts == 0);
  CHECK(time.now() - begin < 300ms);
  co_await nodes[0].wait_for_fence();
  CHECK(time.now() - begin < 400ms);
}

TEST_CASE("agent links: the end of a round comes before its fence, also if the others had finished",
          "[rendezvous]") {
  run(lose_finished_node);
}

task<void> meet_strangers(manual_time& time) {
  job nodes(time, 2, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  co_await nodes.meet(0, 1);
  elastic::rendezvous_messages::hello greeting;
  greeting.run_id = "job";
  greeting.node = {"host1", 1, 0};
  elastic::rendezvous_messages::witness spy;
  spy.run_id = "job";
  spy.node = greeting.node;
  const std::vector<std::string> messages = {
      "", "{}", "no message at all", elastic::to_text(elastic::rendezvous_request(greeting)),
      elastic::to_text(elastic::rendezvous_request(spy))};
  for (const std::string& message : messages) {
    INFO(message);
    const auto channel = co_await nodes.mesh().connector_of(7, 1)->connect();
    channel->send(message);
    bool is_dropped = false;
    try {
      co_await channel->receive();
    } catch (const elastic::error&) {
      is_dropped = true;
    }
    CHECK(is_dropped);
  }
  std::optional<rendezvous_change> change;
  const auto limit = time.now() + 5s;
  co_await elastic::with_deadline(time, limit, hear(nodes[1], change));
  CHECK_FALSE(change.has_value());
}

TEST_CASE("agent links: who does not know the password is hung up on", "[rendezvous]") {
  run(meet_strangers);
}

task<void> break_single_connections(manual_time& time) {
  job nodes(time, 2, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  co_await nodes.meet(0, 1);
  std::optional<rendezvous_change> change;
  elastic::task_group group(co_await asio::this_coro::executor);
  group.spawn(hear(nodes[1], change));
  for (int times = 0; times < 5; ++times) {
    nodes.mesh().break_one_end(1, 2s);
    co_await time.sleep_until(time.now() + 3s);
  }
  co_await group.stop();
  CHECK_FALSE(change.has_value());
}

task<void> leave_in_order(manual_time& time) {
  job nodes(time, 1, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  co_await nodes.meet(0, 1);
  const auto begin = time.now();
  co_await nodes[0].shutdown();
  const rendezvous_change change = co_await nodes[1].wait_for_change();
  CHECK(change.kind == change_kind::node_lost);
  CHECK(time.now() - begin < second);
  // Its workers have all the time that they are given.
  const bool is_fenced =
      co_await elastic::with_deadline(time, time.now() + 5s, nodes[1].wait_for_fence());
  CHECK_FALSE(is_fenced);
}

TEST_CASE("agent links: a node of rank 0 that leaves in order is no loss", "[rendezvous]") {
  run(leave_in_order);
}

task<void> part_nodes(manual_time& time) {
  job nodes(time, 2, 2);
  for (int node = 0; node < 2; ++node) nodes.add();
  nodes.mesh().part(1);
  std::string problem;
  const auto begin = time.now();
  try {
    co_await nodes.meet(0, 1);
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::connection_failed);
    problem = failure.what();
  }
  INFO(problem);
  CHECK(problem.find("host1_1_0 at node1") != std::string::npos);
  CHECK(problem.find("rank 0 at node0:") != std::string::npos);
  CHECK(problem.find("'there'") != std::string::npos);
  CHECK(time.now() - begin < 40s);
}

TEST_CASE("agent links: nodes that reach the place and not each other are told of both addresses",
          "[rendezvous]") {
  run(part_nodes);
}

task<void> lose_node_without_links(manual_time& time) {
  job nodes(time, 2, 3);
  nodes.add();
  nodes.add();
  nodes.add(false);
  co_await nodes.meet(0, 1, 2);
  CHECK_FALSE(nodes.is_served(1));
  const auto begin = time.now();
  nodes.kill(2);
  const rendezvous_change change = co_await nodes[0].wait_for_change();
  CHECK(change.kind == change_kind::node_lost);
  // By its lease.
  CHECK(time.now() - begin > 9s);
  CHECK(time.now() - begin < 20s);
}

TEST_CASE("agent links: with a node of an earlier release all is as it was", "[rendezvous]") {
  run(lose_node_without_links);
}

TEST_CASE("agent links: a connection that breaks alone is no loss", "[rendezvous]") {
  run(break_single_connections);
}

}  // namespace agent_links_tests
