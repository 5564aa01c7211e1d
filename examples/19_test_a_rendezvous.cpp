// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A test of a rendezvous of one's own, in virtual time: two agents meet over a network that a test
// cuts, and their workers are objects of the test.
//
//   build/release/examples/19_test_a_rendezvous

#include <elastic/elastic.hpp>
#include <elastic/testing.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace elastic;
using namespace std::chrono_literals;

// [rendezvous]
// A fixed number of nodes meet in any store. A round ends when a worker fails.
class roll_call final : public rendezvous_handler {
 public:
  roll_call(std::shared_ptr<store> shared, int nodes) : shared_(std::move(shared)), nodes_(nodes) {}

  std::string backend() const override { return "roll call"; }
  std::string run_id() const override { return "job"; }

  task<rendezvous_round> next_round() override {
    ++round_;
    const std::int64_t present = co_await shared_->add(key("present"), 1);
    if (present == nodes_) co_await shared_->set(key("complete"), "");
    co_await shared_->get(key("complete"));
    rendezvous_round met;
    met.round = round_;
    met.group_rank = static_cast<int>(present) - 1;
    met.group_world_size = nodes_;
    met.restarts = round_;
    met.agents = agents_ = std::make_shared<prefix_store>(key("agents"), shared_);
    met.master.address = "192.0.2.1";
    met.master.port = 29500;
    co_return met;
  }

  task<rendezvous_change> wait_for_change() override {
    std::string reason = co_await shared_->get(key("failed"));
    co_return rendezvous_change{rendezvous_change::cause::worker_failed, reason, round_ + 1};
  }

  task<rendezvous_change> report_failure(std::string reason) override {
    co_await shared_->set(key("failed"), reason);
    co_return rendezvous_change{rendezvous_change::cause::worker_failed, reason, round_ + 1};
  }

  task<void> exit_barrier() override { return elastic::exit_barrier(agents_, nodes_); }
  task<void> close(job_end, std::string) override { co_return; }
  task<void> shutdown() override { co_return; }

 private:
  std::string key(const char* name) const { return std::to_string(round_) + "/" + name; }

  std::shared_ptr<store> shared_;
  std::shared_ptr<store> agents_;
  int nodes_;
  int round_ = -1;
};
// [/rendezvous]

// [test]
// A node whose agent has the rendezvous that is tested, and one worker.
struct node {
  node(testing::manual_clock& clock, std::shared_ptr<store> shared) {
    local_agent::options options;
    options.rendezvous = std::make_shared<roll_call>(std::move(shared), 2);
    options.workers.program = "trainer";  // is not started
    options.workers.log_dir = "/dev/null";
    options.workers.max_restarts = 3;
    options.services.launcher = options.services.hook_launcher = launcher;
    options.services.time = clock.share();
    agent = std::make_unique<local_agent>(std::move(options));
    asio::co_spawn(clock.context(), agent->run(), [this](std::exception_ptr, run_result ended) {
      result = std::move(ended);
    });
  }

  std::shared_ptr<testing::scripted_launcher> launcher =
      std::make_shared<testing::scripted_launcher>();
  std::unique_ptr<local_agent> agent;
  run_result result;
};

bool test_rendezvous() {
  asio::io_context context;
  testing::manual_clock clock(context);
  testing::simulated_network network(clock, 1, duration::max());
  network.part(1);
  node first(clock, network.store_of(0));
  node second(clock, network.store_of(1));

  clock.run_for(1h);
  if (first.launcher->running() != 0) return false;  // it waits for the other node
  network.mend(1);
  clock.run_for(1min);
  if (first.launcher->running() + second.launcher->running() != 2) return false;

  second.launcher->started[0]->exit(1);
  clock.run_for(1min);
  if (first.launcher->started.size() != 2 || second.launcher->started.size() != 2) return false;

  for (node* each : {&first, &second}) each->launcher->started[1]->exit(0);
  clock.run();
  std::printf("after %ld virtual minutes: %s, %d restart\n",
              std::chrono::floor<std::chrono::minutes>(clock.elapsed()).count(),
              to_string(first.result.state).data(), first.result.restarts);
  return first.launcher->all_gone() && second.launcher->all_gone();
}
// [/test]

int main() { return test_rendezvous() ? 0 : 1; }

// Prints:
// after 62 virtual minutes: SUCCEEDED, 1 restart
