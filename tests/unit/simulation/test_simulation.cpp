// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs whose nodes meet in elasticrun's own way: besides the agents, the links and the server's
// coordinator are the real ones; the network between them is not.
//
//   ELASTIC_SIMULATION_SEEDS=10000 ELASTIC_SIMULATION_FIRST=1 unit_tests "simulation: *"

#include <elastic/rendezvous/native/c10d_rendezvous.hpp>
#include <support/catch.hpp>
#include <support/simulated_job.hpp>
#include <support/simulated_network.hpp>
#include <support/simulation_seeds.hpp>

#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace simulation_tests {

using elastic::duration;
using elastic::rendezvous_handler;
using elastic::task;
using elastic::test::fake_process;
using elastic::test::manual_time;
using elastic::test::simulated_network;
using elastic::test::simulated_node;

class native_job final : public elastic::test::simulated_job {
 public:
  native_job(manual_time& time, std::uint64_t seed)
      : simulated_job(time, seed), network_(time, random_) {}

 private:
  std::shared_ptr<rendezvous_handler> make_handler(
      simulated_node& node, elastic::rendezvous_parameters parameters) override {
    return std::make_shared<elastic::c10d_rendezvous>(
        std::move(parameters), network_.connector_of(node.id), network_.store_of(node.id));
  }

  int kinds_of_trouble() const override { return 4; }
  task<void> trouble(simulated_node& node, duration span) override {
    switch (random_.below(4)) {
      case 0:
        note(fmt::format("node {} is cut off", node.id));
        network_.part(node.id);
        co_await time_.sleep_until(time_.now() + span);
        note(fmt::format("node {} is reached again", node.id));
        network_.mend(node.id);
        break;
      case 1:
        note(fmt::format("node {} loses its connection", node.id));
        network_.reset(node.id);
        break;
      case 2:
        note("the server stalls");
        network_.stall(span / 4);
        break;
      default: node.clock->wall_offset = span * 1000;
    }
  }

  void cut_for_good(simulated_node& node) override { network_.kill(node.id); }
  void end_troubles() override {
    for (const auto& node : nodes_) {
      if (!node->crashed) network_.mend(node->id);
    }
  }
  void close_up() override { network_.end(); }

  void check_world(const simulated_node&, const known_round& known) override {
    if (!known.worlds.empty()) complain("two sizes of one round");
  }

  // The server sees to it that a node's workers are gone before the others go on without it.
  void found_other_round(const simulated_node& starting, const simulated_node& other,
                         const fake_process&, std::int64_t its_round) override {
    complain(fmt::format("node {} starts a worker of round {} while one of round {} runs on node "
                         "{}",
                         starting.id, starting.round->round, its_round, other.id));
  }

  simulated_network network_;
};

TEST_CASE("simulation: whatever happens to nodes and network, the job stays whole",
          "[simulation]") {
  elastic::test::run_seeds<native_job>("simulation: whatever*");
}

}  // namespace simulation_tests
