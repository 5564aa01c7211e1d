// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Workers that talk to their agent over the control channel. In the first attempt, rank 1 hangs and
// is killed. In the second, both save a checkpoint before the job is stopped with SIGTERM, as when
// a machine is taken away. Started by hand, this program runs itself as the workers:
//   build/release/examples/14_talk_to_the_agent

#include <elastic/elastic.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <variant>

using namespace std::chrono_literals;
namespace messages = elastic::control_messages;

// The worker: trains until it is stopped, and saves when it is asked to.
int work() {
  const elastic::worker_context me = elastic::this_worker();
  elastic::worker_channel::options wants;
  wants.checkpoints = true;
  elastic::worker_channel agent(wants);
  for (int step = 1;; ++step) {
    const auto limit = agent.expires(60s, "step");
    if (me.rank == 1 && me.restart_count == 0 && step == 3) {
      const auto here = agent.enter("all_reduce", 200ms);
      for (;;) agent.wait(1h);  // simulates waiting for ranks that never arrive
    }
    agent.progress(step, 0, "training");
    // Instead of training: waits for the time of a step, or until the agent sends a message.
    const auto message = agent.wait(10ms);
    if (!message) continue;
    if (const auto* request = std::get_if<messages::checkpoint>(&*message)) {
      std::printf("rank %d saves a checkpoint\n", me.rank), std::fflush(stdout);
      agent.saved(*request);
    }
  }
}

// Follows the workers: hung ones, and the start of the second attempt.
struct watcher : elastic::agent_part {
  elastic::local_agent* agent = nullptr;
  bool is_second_attempt = false;
  bool is_stopping = false;
  void hung(const elastic::agent_part::hung_worker& found) override {
    std::printf("rank %d is hung: %s\n", found.rank, found.reason.c_str()), std::fflush(stdout);
    is_second_attempt = true;
  }
  void progressed(const elastic::worker_progress& made) override {
    if (is_second_attempt && made.step == 1) heard_[made.rank] = true;
    if (is_stopping || !heard_[0] || !heard_[1]) return;
    is_stopping = true;
    elastic::stop_request request;
    request.reason = "the machine is taken away";
    agent->stop(request);  // by SIGTERM
  }

 private:
  bool heard_[2] = {false, false};
};

elastic::task<void> supervise(int& code) {
  elastic::launch_config config;
  config.workers.program = std::filesystem::read_symlink("/proc/self/exe");
  config.workers.environment = elastic::environment_from(environ);
  config.standalone = true;
  config.workers.nproc_per_node = 2;
  config.workers.max_restarts = 1;
  config.workers.preempt_grace = 30s;
  const auto guest = std::make_shared<watcher>();
  elastic::agent_services services;
  add_part(services, "watcher", guest);
  const auto agent = elastic::make_agent(config, services);
  guest->agent = agent.get();
  const elastic::run_result result = co_await agent->run();
  std::printf("%s: %s\n", to_string(result.state).data(), result.reason.c_str());
  code = result.state == elastic::worker_state::stopped ? 0 : 1;
}

int main() {
  if (elastic::is_worker()) return elastic::record(&work);
  int code = 1;
  asio::io_context context;
  asio::co_spawn(context, supervise(code), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  context.run();
  return code;
}

// Prints:
// rank 1 is hung: section 'all_reduce' took ... s (allowed 0.2 s)
// rank ... saves a checkpoint
// rank ... saves a checkpoint
// STOPPED: the machine is taken away
