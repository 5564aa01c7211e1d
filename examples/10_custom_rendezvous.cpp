// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A custom rendezvous, registered under a name: you decide how nodes find each other.
//
//   build/release/examples/10_custom_rendezvous
//
// Here the nodes are two agents of this process, which meet in its memory. A round is complete when
// both are there, and over as soon as one of them leaves it. So when a worker fails on one node,
// the workers of both restart.

#include <elastic/elastic.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_future.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace elastic;

struct lobby_round {
  explicit lobby_round(asio::any_io_executor executor)
      : complete(executor), over(executor), workers(executor, {}) {}
  event_flag complete, over;
  std::vector<const void*> members;  // in the order of their ranks
  rendezvous_change why;             // it is over
  std::shared_ptr<store> agents = std::make_shared<memory_store>();
  tcp_store_server workers;
};

// Used by one thread alone.
struct lobby {
  std::shared_ptr<lobby_round> gathering;
  int failures = 0;
  bool closed = false;
};

// [rendezvous]
class lobby_rendezvous final : public rendezvous_handler {
 public:
  lobby_rendezvous(std::shared_ptr<lobby> meeting, rendezvous_parameters parameters)
      : lobby_(std::move(meeting)), parameters_(std::move(parameters)) {}

  std::string backend() const override { return "lobby"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    co_await shutdown();  // leaves the previous round
    throw_if_closed();
    const auto executor = co_await asio::this_coro::executor;
    if (!lobby_->gathering) lobby_->gathering = std::make_shared<lobby_round>(executor);
    mine_ = lobby_->gathering;
    mine_->members.push_back(this);
    if (std::ssize(mine_->members) == parameters_.max_nodes) {
      lobby_->gathering.reset();
      mine_->complete.set();
    }
    try {
      co_await mine_->complete.wait();
      throw_if_closed();
    } catch (...) {
      leave();
      throw;
    }
    rendezvous_round met;
    const auto place = std::find(mine_->members.begin(), mine_->members.end(), this);
    met.group_rank = static_cast<int>(place - mine_->members.begin());
    met.group_world_size = parameters_.max_nodes;
    met.restarts = lobby_->failures;
    met.agents = mine_->agents;
    met.master.address = "127.0.0.1";
    met.master.port = mine_->workers.port();
    met.master.served_by_agent = true;
    co_return met;
  }

  task<rendezvous_change> wait_for_change() override {
    const auto round = mine_;
    co_await round->over.wait();
    throw_if_closed();
    co_return round->why;
  }

  task<rendezvous_change> report_failure(std::string reason) override {
    if (!mine_->over.is_set()) {
      ++lobby_->failures;
      end_round(rendezvous_change::cause::worker_failed, std::move(reason));
    }
    co_return mine_->why;
  }

  task<void> exit_barrier() override {
    co_await elastic::exit_barrier(mine_->agents, parameters_.max_nodes);
  }

  task<void> close(rendezvous_handler::job_end, std::string) override {
    lobby_->closed = true;
    if (lobby_->gathering) lobby_->gathering->complete.set();
    if (mine_) end_round(rendezvous_change::cause::node_lost, "the lobby was closed");
    co_return;
  }

  task<void> shutdown() override {
    const auto left = mine_;
    leave();
    if (left && left->members.empty()) co_await left->workers.stop();
  }

 private:
  void leave() {
    if (!mine_) return;
    std::erase(mine_->members, this);
    end_round(rendezvous_change::cause::node_lost, "the other node has left");
    mine_.reset();
  }

  void end_round(rendezvous_change::cause kind, std::string reason) {
    if (mine_->over.is_set()) return;
    mine_->why = {kind, std::move(reason), lobby_->failures};
    mine_->over.set();
  }

  void throw_if_closed() const {
    if (lobby_->closed) throw error(errc::rendezvous_closed, "the lobby is closed");
  }

  std::shared_ptr<lobby> lobby_;
  rendezvous_parameters parameters_;
  std::shared_ptr<lobby_round> mine_;
};
// [/rendezvous]

// In the first round the fragile node's worker fails, while the stable node's would run for ever.
launch_config node(const std::string& role) {
  launch_config config;
  config.workers.program = "sh";
  config.workers.arguments = {
      "-c",
      "case $ROLE_NAME.$TORCHELASTIC_RESTART_COUNT in\n"
      "  stable.0) exec sleep 600 ;;\n"
      "  fragile.0) exit 3 ;;\n"
      "  *) echo \"rank $RANK of $WORLD_SIZE is on the $ROLE_NAME node\" ;;\n"
      "esac"};
  config.workers.environment = environment_from(environ);
  config.workers.role = role;
  config.rendezvous.min_nodes = config.rendezvous.max_nodes = 2;
  config.workers.max_restarts = 1;
  config.rendezvous.backend = "lobby";
  return config;
}

int main() {
  // [register]
  const auto meeting = std::make_shared<lobby>();
  const auto backends = std::make_shared<rendezvous_registry>();
  backends->add("lobby", [meeting](const rendezvous_parameters& parameters) {
    return std::make_shared<lobby_rendezvous>(meeting, parameters);
  });
  agent_services services;
  services.backends = backends;
  const launch_config of_stable = node("stable");
  const launch_config of_fragile = node("fragile");
  const auto stable = make_agent(of_stable, services);
  const auto fragile = make_agent(of_fragile, services);
  // [/register]

  asio::io_context context;
  auto first = asio::co_spawn(context, stable->run(), asio::use_future);
  auto second = asio::co_spawn(context, fragile->run(), asio::use_future);
  context.run();
  std::printf("stable node: %d restarts for a failure\n", first.get().restarts);
  std::printf("fragile node: %d restarts for a failure\n", second.get().restarts);
}

// Prints:
// rank ... of 2 is on the ... node
// rank ... of 2 is on the ... node
// stable node: 1 restarts for a failure
// fragile node: 1 restarts for a failure
