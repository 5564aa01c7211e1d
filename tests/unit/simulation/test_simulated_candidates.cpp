// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs whose nodes meet at three candidates, each in an agent. The agents, leaders, votes,
// registers and the search for the leader are real; the network is simulated.
//
//   ELASTIC_SIMULATION_SEEDS=10000 ELASTIC_SIMULATION_FIRST=1 unit_tests "simulation: candidates*"

#include <elastic/agent/worker_state.hpp>
#include <elastic/base/error.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/candidate.hpp>
#include <elastic/nodes/detail/candidate_source.hpp>
#include <support/catch.hpp>
#include <support/coordinated_job.hpp>
#include <support/simulated_mesh.hpp>
#include <support/simulation_seeds.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace simulated_candidates_tests {

using elastic::duration;
using elastic::rendezvous_change;
using elastic::rendezvous_handler;
using elastic::rendezvous_parameters;
using elastic::rendezvous_round;
using elastic::task;
using elastic::time_point;
using elastic::detail::c10d_rendezvous;
using elastic::detail::candidate_source;
using elastic::detail::candidate;
using elastic::test::manual_time;
using elastic::test::simulated_mesh;
using elastic::test::simulated_node;

constexpr int places = 3;

/// The candidate of an agent, which may wait for its port while another agent has it.
struct prepared_candidate {
  std::shared_ptr<candidate> server;
  int place = -1;
  duration patience{};
};

/// A handler whose agent's server opens when its port is free, and stops when it was left.
class serving_rendezvous final : public rendezvous_handler {
 public:
  using maker = std::function<std::shared_ptr<rendezvous_handler>(std::shared_ptr<candidate>)>;
  /// @param make  the handler at that candidate, or at none
  serving_rendezvous(manual_time& time, simulated_mesh& net, int node, prepared_candidate own,
                     maker make, std::function<void()> on_close)
      : time_(time),
        net_(net),
        node_(node),
        own_(std::move(own)),
        make_(std::move(make)),
        on_close_(std::move(on_close)) {
    if (own_.patience == duration::zero()) open();
  }

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return "job"; }
  task<rendezvous_round> next_round() override {
    const time_point limit = time_.now() + own_.patience;
    while (!inner_ && net_.is_served(own_.place) && time_.now() < limit) {
      co_await time_.sleep_until(time_.now() + std::chrono::milliseconds(1));
    }
    if (!inner_) open();
    co_return co_await inner_->next_round();
  }
  task<rendezvous_change> wait_for_change() override { return inner_->wait_for_change(); }
  task<rendezvous_change> report_failure(std::string what) override {
    return inner_->report_failure(std::move(what));
  }
  task<void> exit_barrier() override { return inner_->exit_barrier(); }
  task<void> wait_for_fence() override {
    return inner_ ? inner_->wait_for_fence() : rendezvous_handler::wait_for_fence();
  }
  task<void> close(rendezvous_handler::job_end how, std::string why) override {
    if (!inner_) co_return;
    on_close_();
    co_await inner_->close(how, std::move(why));
  }
  task<void> shutdown() override {
    if (inner_) co_await inner_->shutdown();
    net_.stop(node_);
  }

 private:
  void open() {
    const bool has_port = own_.server && !net_.is_served(own_.place);
    if (has_port) net_.serve(own_.place, node_, own_.server);
    inner_ = make_(has_port ? own_.server : nullptr);
  }

  manual_time& time_;
  simulated_mesh& net_;
  int node_;
  prepared_candidate own_;
  maker make_;
  std::function<void()> on_close_;
  std::shared_ptr<rendezvous_handler> inner_;
};

class candidates_job : public elastic::test::coordinated_job {
 public:
  candidates_job(manual_time& time, std::uint64_t seed)
      : coordinated_job(time, seed), net_(time, random_) {}

 protected:
  int kinds_of_trouble() const override { return 6; }
  task<void> trouble(simulated_node& node, duration span) override {
    switch (random_.below(6)) {
      case 4: stop(node, span); break;
      case 0:
      case 1:
        note(fmt::format("node {} is cut off", node.id));
        net_.part(node.id);
        co_await time_.sleep_until(time_.now() + span);
        note(fmt::format("node {} is reached again", node.id));
        net_.mend(node.id);
        break;
      case 2:
      case 3:
        note(fmt::format("node {} loses its connections", node.id));
        net_.reset(node.id);
        break;
      default: node.clock->wall_offset = span * 1000;
    }
  }

  simulated_mesh net_;

 private:
  std::shared_ptr<rendezvous_handler> make_handler(simulated_node& node,
                                                   rendezvous_parameters parameters) override {
    parameters.endpoint = "a:1,b:1,c:1";
    parameters.log = log_of(node);
    std::vector<candidate_source::server_access> servers;
    for (int place = 0; place < places; ++place) {
      servers.push_back({net_.connector_of(node.id, place), net_.store_of(node.id, place)});
    }
    prepared_candidate own = choose_place();
    if (own.place >= 0) {
      own.server = make_candidate(node, own.place, parameters, servers);
      note(fmt::format("node {} is to serve at {}", node.id, own.place));
    }
    serving_rendezvous::maker make = [parameters, servers](std::shared_ptr<candidate> served) {
      auto leaders = std::make_shared<candidate_source>(parameters, servers, std::move(served));
      return std::make_shared<c10d_rendezvous>(parameters, std::move(leaders));
    };
    std::function<void()> on_close = [this] { note_end_of_job(); };
    return std::make_shared<serving_rendezvous>(time_, net_, node.id, std::move(own),
                                                std::move(make), std::move(on_close));
  }

  // The first that is free. If none is, half of the agents wait for one whose agent may die: they
  // look up its name, say.
  prepared_candidate choose_place() {
    prepared_candidate own;
    for (int place = 0; place < places; ++place) {
      if (!net_.is_served(place)) return {nullptr, place, duration::zero()};
    }
    if (random_.below(2) == 0) return own;
    own.place = static_cast<int>(random_.below(places));
    own.patience = std::chrono::seconds(20);
    return own;
  }

  std::shared_ptr<candidate> make_candidate(
      const simulated_node& node, int place, const rendezvous_parameters& parameters,
      const std::vector<candidate_source::server_access>& servers) {
    candidate::options options;
    options.run_id = parameters.run_id;
    options.list = parameters.endpoint;
    options.self = place;
    for (const auto& server : servers) options.others.push_back(server.connector);
    options.others[static_cast<std::size_t>(place)] = nullptr;
    options.settings = parameters.settings();
    options.node = 1000 + static_cast<std::uint64_t>(node.id);
    options.network = "the place";
    options.seed = random_.next();
    options.time = node.clock;
    options.log = parameters.log;
    return std::make_shared<candidate>(std::move(options));
  }

  // The end is decided: of those who serve now, a majority knows it.
  void note_end_of_job() {
    if (servers_at_end_.empty()) servers_at_end_ = net_.serving_nodes();
  }

  // A majority of those who knew how the job ended told whom they reached, and left. Who was cut
  // off meanwhile, or comes later, begins another job of that name.
  bool begins_anew() const {
    if (servers_at_end_.empty()) return false;
    const auto servers = net_.serving_nodes();
    const auto remains = [&servers](const auto& place) {
      const auto now = servers.find(place.first);
      return now != servers.end() && now->second == place.second;
    };
    const auto left = std::count_if(servers_at_end_.begin(), servers_at_end_.end(), remains);
    return left < places / 2 + 1;
  }
  void entered_round(const simulated_node& node) override {
    if (begins_anew()) later_.insert(node.id);
  }
  // Who never was in a round hears how the job ends that is there when it is reached again.
  bool could_know(const simulated_node& node) const override {
    const bool waited_on = !node.round && begins_anew();
    return !waited_on && later_.count(node.id) == 0 && coordinated_job::could_know(node);
  }

  void cut_for_good(simulated_node& node) override { net_.kill(node.id); }
  void end_troubles() override {
    for (const auto& node : nodes_) {
      if (!node->crashed) net_.mend(node->id);
    }
  }
  void close_up() override { net_.end(); }

  void passed_barrier(const simulated_node& passed) override {
    note_end_of_job();
    coordinated_job::passed_barrier(passed);
  }

  /// The node that served at each place when the job's end was decided.
  std::map<int, int> servers_at_end_;
  /// Nodes of a job after that.
  std::set<int> later_;
};

/// The same in a network that also works one way only, and where one end of a connection may hear
/// of its end long before the other.
class one_way_job final : public candidates_job {
 public:
  using candidates_job::candidates_job;

 private:
  int kinds_of_trouble() const override { return 10; }
  task<void> trouble(simulated_node& node, duration span) override {
    switch (random_.below(5)) {
      case 0:
        note(fmt::format("nobody hears node {}", node.id));
        net_.mute(node.id);
        break;
      case 1:
        note(fmt::format("node {} hears nobody", node.id));
        net_.deafen(node.id);
        break;
      case 2:
        note(fmt::format("one end of a connection of node {} breaks", node.id));
        net_.break_one_end(node.id, span);
        co_return;
      default: co_return co_await candidates_job::trouble(node, span);
    }
    co_await time_.sleep_until(time_.now() + span);
    note(fmt::format("node {} is heard and hears again", node.id));
    net_.mend(node.id);
  }
};

TEST_CASE("simulation: candidates lead a job one after the other, and it stays whole",
          "[simulation]") {
  elastic::test::run_seeds<candidates_job>("simulation: candidates*");
}

TEST_CASE("simulation: a network that fails one way does candidates no harm", "[simulation]") {
  elastic::test::run_seeds<one_way_job>("simulation: a network that fails*");
}

}  // namespace simulated_candidates_tests
