// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs whose nodes meet as torchrun's do: each makes its own steps in a shared state. The agents
// and their rendezvous are real; the backend of the state, the network and the clocks are
// simulated.
//
//   ELASTIC_SIMULATION_SEEDS=10000 ELASTIC_SIMULATION_FIRST=1 unit_tests "simulation: *"

#include <elastic/torch/detail/dynamic_rendezvous.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>
#include <elastic/torch/detail/torch_state.hpp>
#include <support/catch.hpp>
#include <support/simulated_job.hpp>
#include <support/simulated_place.hpp>
#include <support/simulation_seeds.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace simulated_dynamic_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::detail::node_id;
using elastic::rendezvous_handler;
using elastic::task;
using elastic::time_point;
using elastic::detail::torch_dialect;
using elastic::detail::torch_state;
using elastic::test::fake_process;
using elastic::test::manual_time;
using elastic::test::round_name;
using elastic::test::simulated_node;
using elastic::test::simulated_place;

/// What torchrun's way to meet promises, besides what every way does:
///
/// - Nobody is given up who was heard of in time, whatever the clocks show.
/// - Rounds come one after the other, and each is complete with an allowed number of nodes. Who
///   looks at it when some have left it already may take it for smaller; then the others notice
///   that those have left, and the round ends soon.
/// - No worker runs beside one of a newer round: who is cut off stops its own before the others go
/// on.
/// - A node that asks for a round is placed or refused in time.
/// - A node fails only where it cannot reach the place, finds no round in time, or the job has
///   ended. Nodes that reach the place agree on whether the job has succeeded.
class dynamic_job final : public elastic::test::simulated_job {
 public:
  dynamic_job(manual_time& time, std::uint64_t seed)
      : simulated_job(time, seed),
        manner_(static_cast<simulated_place::manner>(random_.below(2))),
        dialect_(random_.below(2) == 0 ? torch_dialect::torch_1_13 : torch_dialect::torch_2_6),
        place_(time, random_, manner_, dialect_,
               [this](int node, const torch_state& before, const torch_state& after) {
                 if (!over_) judge(node, before, after);
               }) {
    note(fmt::format("{} to {} nodes, {} restarts, dialect {}, place {}", plan_.min_nodes,
                     plan_.max_nodes, plan_.max_restarts, to_text(dialect_),
                     static_cast<int>(manner_)));
    if (random_.below(2) == 0) place_.lose_one_in(1 + random_.below(50));
  }

 private:
  static constexpr duration beat = 5s;
  static constexpr duration silence = 3 * beat;
  /// The longest that messages take where nothing is wrong, several of them and the pauses between.
  static constexpr duration slack = 5s;
  /// How long a node that is cut off goes on: until it asks, until it has no answer, until its
  /// workers are gone.
  const duration last_breath = beat + silence + plan_.worker_grace + slack;

  std::shared_ptr<rendezvous_handler> make_handler(
      simulated_node& node, elastic::rendezvous_parameters parameters) override {
    // The order of the names is not that of the starts.
    const node_id name{fmt::format("host{}", random_.below(100)), node.id, 0};
    names_[node.id] = name;
    ids_[name] = node.id;
    node.clock->wall_offset = skew();
    elastic::detail::dynamic_rendezvous_options options;
    options.parameters = std::move(parameters);
    options.dialect = dialect_;
    options.backend = place_.backend_of(node.id, node.clock);
    options.agents = place_.store_of(node.id);
    options.node = name;
    return std::make_shared<elastic::detail::dynamic_rendezvous>(std::move(options));
  }

  // ---- troubles -------------------------------------------------------------------------------

  duration skew() { return std::chrono::seconds(random_.below(2'000'000)) - 1'000'000s; }

  int kinds_of_trouble() const override { return 5; }
  task<void> trouble(simulated_node& node, duration span) override {
    switch (random_.below(5)) {
      case 0:
        note(fmt::format("node {} is cut off", node.id));
        place_.part(node.id);
        spawn(check_has_stopped(node));
        // At times for longer than its workers may go on.
        if (random_.below(3) == 0) span *= 4;
        co_await time_.sleep_until(time_.now() + span);
        note(fmt::format("node {} is reached again", node.id));
        place_.mend(node.id);
        ++mends_[node.id];
        disturbed(node.id, 0s);
        break;
      case 1:
        note(fmt::format("node {} is refused", node.id));
        place_.refuse(node.id, span / 3);
        disturbed(node.id, span / 3);
        break;
      case 2:
        note("the place stalls");
        place_.stall(span / 4);
        all_disturbed(span / 4);
        break;
      case 3:
        note("the place hangs up on everybody");
        for (const auto& each : nodes_) place_.refuse(each->id, span / 8);
        all_disturbed(span / 8);
        break;
      default:
        note(fmt::format("the clock of node {} is set", node.id));
        node.clock->wall_offset = skew();
    }
  }

  void disturbed(int node, duration span) {
    time_point& until = disturbed_until_[node];
    until = std::max(until, time_.now() + span);
  }

  void all_disturbed(duration span) {
    for (const auto& node : nodes_) disturbed(node->id, span);
  }

  void cut_for_good(simulated_node& node) override {
    place_.kill(node.id);
  }
  void end_troubles() override {
    place_.heal();
    all_disturbed(0s);
  }
  void close_up() override { place_.end(); }

  // Whether its silence may have been long enough to be given up, or to have given up.
  bool was_disturbed(int node) const {
    const simulated_node& entry = *nodes_.at(static_cast<std::size_t>(node));
    return entry.crashed || entry.ended || was_cut_off(node);
  }
  bool was_cut_off(int node) const {
    if (place_.is_cut_off(node)) return true;
    const auto found = disturbed_until_.find(node);
    return found != disturbed_until_.end() && time_.now() <= found->second + last_breath;
  }

  // ---- judgement ------------------------------------------------------------------------------

  // Who stands by, as nodes of 2.6 do, waits for as long as the round goes on.
  void left_round(simulated_node& node) override {
    if (dialect_ == torch_dialect::torch_1_13) spawn(check_is_placed(node));
  }
  task<void> check_is_placed(const simulated_node& node) {
    const std::int64_t before = node.round ? node.round->round : -1;
    time_point since = time_.now();
    for (;;) {
      co_await time_.sleep_until(since + join_timeout + last_breath);
      // A round that lost a node before this one could start its workers begins the wait anew.
      const auto completed = completed_at_.find(node.id);
      if (completed == completed_at_.end() || completed->second <= since) break;
      since = completed->second;
    }
    const std::int64_t now = node.round ? node.round->round : -1;
    if (over_ || now != before || was_disturbed(node.id)) co_return;
    complain(fmt::format("node {} is neither placed nor refused", node.id));
  }

  static std::set<node_id> nodes_of(const torch_state& state) {
    std::set<node_id> nodes = state.wait_list;
    nodes.insert(state.redundancy_list.begin(), state.redundancy_list.end());
    for (const auto& [node, rank] : state.participants) nodes.insert(node);
    for (const auto& [node, time] : state.last_heartbeats) nodes.insert(node);
    return nodes;
  }

  void judge(int by, const torch_state& before, const torch_state& after) {
    const std::set<node_id> remaining = nodes_of(after);
    for (const node_id& name : nodes_of(before)) {
      const int node = ids_.at(name);
      if (remaining.count(name) != 0 || node == by || was_disturbed(node)) continue;
      complain(fmt::format("node {} was given up by node {} and lives", node, by));
    }
    if (after.round != before.round && after.round != before.round + 1) {
      complain(fmt::format("round {} follows round {}", after.round, before.round));
    }
    const bool was_complete = before.complete && before.round == after.round;
    if (!after.complete || was_complete) return;
    std::map<node_id, int>& members = complete_[after.round];
    if (!members.empty()) complain(fmt::format("round {} was complete before", after.round));
    members = after.participants;
    int rank = 0;
    for (const auto& [name, its_rank] : members) {
      completed_at_[ids_.at(name)] = time_.now();
      if (its_rank != rank++) complain(fmt::format("round {} has no rank {}", after.round, rank));
    }
    note(fmt::format("round {} is complete with {} nodes", after.round, rank));
    if (rank < plan_.min_nodes || rank > plan_.max_nodes) {
      complain(fmt::format("round {} is complete with {} nodes", after.round, rank));
    }
  }

  void check_world(const simulated_node& node, const known_round& known) override {
    const std::int64_t round = node.round->round;
    const int world = node.round->group_world_size;
    const auto& members = complete_[round];
    const auto place = members.find(names_.at(node.id));
    if (place == members.end() || place->second != node.round->group_rank) {
      complain(fmt::format("node {} has not that place in round {}", node.id, round));
    }
    if (static_cast<int>(members.size()) < world) complain("a round has grown");
    const torch_state& now = place_.state();
    for (const auto& [name, rank] : now.participants) {
      if (now.round != round || rank < world || was_disturbed(ids_.at(name))) continue;
      complain(
          fmt::format("node {} does not count node {} in round {}", node.id, ids_.at(name), round));
    }
    if (!known.worlds.empty()) spawn(check_end_of(round));
  }

  task<void> check_end_of(std::int64_t round) {
    note(fmt::format("the nodes of round {} do not agree on its size", round));
    co_await time_.sleep_until(time_.now() + silence + last_breath);
    for (const auto& node : nodes_) check_no_worker(*node, round);
  }

  // By itself: nobody can tell it.
  task<void> check_has_stopped(const simulated_node& node) {
    const int mends = mends_[node.id];
    co_await time_.sleep_until(time_.now() + last_breath);
    if (mends_[node.id] != mends || !place_.is_cut_off(node.id)) co_return;
    if (node.launcher->running() != 0) {
      complain(fmt::format("node {} is cut off and goes on", node.id));
    }
  }

  void found_other_round(const simulated_node& starting, const simulated_node& other,
                         const fake_process&, round_name its_round) override {
    complain(
        fmt::format("node {} starts a worker of round {} while one of round {} runs on node {}",
                    starting.id, starting.round->round, its_round.round, other.id));
  }

  void check_no_worker(const simulated_node& node, std::int64_t round) {
    const auto& started = node.launcher->started;
    for (std::size_t place = 0; place < started.size(); ++place) {
      if (node.worker_rounds.at(place)->round != round || !started[place]->running()) continue;
      complain(fmt::format("node {} still has a worker of round {}", node.id, round));
    }
  }

  void check_failure(const simulated_node& node) override {
    const bool is_late = node.failure.rfind("no place in a round of 'job'", 0) == 0;
    if (is_late || was_cut_off(node.id) || place_.state().closed) return;
    complain(fmt::format("node {} fails: {}", node.id, node.failure));
  }

  // One whose workers are done ends with success also where it cannot ask about the others.
  bool could_know(const simulated_node& node) const override { return !was_cut_off(node.id); }

  const simulated_place::manner manner_;
  const torch_dialect dialect_;
  simulated_place place_;
  std::map<int, node_id> names_;
  std::map<node_id, int> ids_;
  std::map<int, time_point> disturbed_until_;
  /// How often each was reached again.
  std::map<int, int> mends_;
  /// When the last round with each node was complete.
  std::map<int, time_point> completed_at_;
  /// The rounds that were complete, with the ranks of their nodes.
  std::map<std::int64_t, std::map<node_id, int>> complete_;
};

TEST_CASE("simulation: nodes that meet as torchrun's do go through whatever happens",
          "[simulation]") {
  elastic::test::run_seeds<dynamic_job>("simulation: nodes that meet*");
}

}  // namespace simulated_dynamic_tests
