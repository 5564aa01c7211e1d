// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// An agent with a rendezvous of one's own, here of one node.

#include <elastic/agent/local_agent.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/store/memory_store.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <memory>
#include <string>

class lonely_rendezvous final : public elastic::rendezvous_handler {
 public:
  explicit lonely_rendezvous(asio::any_io_executor executor) : changed_(executor) {}

  std::string backend() const override { return "lonely"; }
  std::string run_id() const override { return "lonely"; }

  elastic::task<elastic::rendezvous_round> next_round() override {
    elastic::rendezvous_round round;
    round.agents = std::make_shared<elastic::memory_store>();
    round.master.address = "127.0.0.1";
    round.master.port = 29500;
    co_return round;
  }

  elastic::task<elastic::rendezvous_change> wait_for_change() override {
    co_await changed_.wait();
    co_return elastic::rendezvous_change();
  }

  elastic::task<elastic::rendezvous_change> report_failure(std::string reason) override {
    elastic::rendezvous_change failure;
    failure.kind = elastic::rendezvous_change::cause::worker_failed;
    failure.reason = reason;
    failure.restarts = ++failures_;
    co_return failure;
  }

  elastic::task<void> exit_barrier() override { co_return; }
  elastic::task<void> close(job_end, std::string) override { co_return; }
  elastic::task<void> shutdown() override { co_return; }

 private:
  elastic::event_flag changed_;
  int failures_ = 0;
};

int main() {
  asio::io_context context;
  elastic::local_agent::options options;
  options.workers.program = "/bin/true";
  options.rendezvous = std::make_shared<lonely_rendezvous>(context.get_executor());
  elastic::local_agent agent(options);
  auto job = asio::co_spawn(context, agent.run(), asio::use_future);
  context.run();
  return job.get().state == elastic::worker_state::succeeded ? 0 : 1;
}
