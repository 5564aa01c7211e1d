// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A worker dies: all workers of the job are stopped and restarted, until they succeed or the
// restarts are used up. Then a report says which worker failed first, and why.
//
//   build/release/examples/02_restart_on_failure
//
// The program is launcher and worker at the same time: it starts itself, and recognizes from its
// environment that it is a worker.

#include <elastic/elastic.hpp>
#include <elastic/launch/console_log.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

// In the first attempt rank 1 is killed; rank 0 continues until its agent stops it.
int work(bool hopeless) {
  const elastic::worker_context me = elastic::this_worker();
  if (hopeless && me.rank == 1) throw std::runtime_error("no such data set");
  if (me.restart_count == 0 && me.rank == 1) std::raise(SIGKILL);
  if (me.restart_count == 0) ::pause();
  std::printf("rank %d of %d: done in attempt %d\n", me.rank, me.world_size, me.restart_count);
  return 0;
}

// [launch]
elastic::run_result run(const std::string& task, int max_restarts) {
  elastic::launch_config config;
  config.workers.program = std::filesystem::read_symlink("/proc/self/exe");
  config.workers.arguments = {task};
  config.workers.environment = elastic::environment_from(environ);
  config.standalone = true;
  config.workers.nproc_per_node = 2;
  config.workers.max_restarts = max_restarts;

  elastic::agent_services services;
  auto console = std::make_shared<elastic::console_log>(std::make_shared<elastic::system_time>());
  services.log = elastic::logger(console, elastic::log_level::warning);

  asio::io_context context;
  auto job = asio::co_spawn(context, elastic::launch(config, services), asio::use_future);
  context.run();
  return job.get();
}
// [/launch]

int main(int, char** words) {
  // `record` reports exceptions to the agent.
  if (elastic::is_worker()) {
    return elastic::record([&] { return work(words[1] == std::string("hopeless")); });
  }

  const elastic::run_result lucky = run("hopeful", 2);
  std::printf("%s with %d of %d restarts\n", to_string(lucky.state).data(), lucky.restarts,
              lucky.max_restarts);

  const elastic::run_result failed = run("hopeless", 0);
  std::fputs(elastic::failure_report("hopeless", failed.failures).c_str(), stdout);
  std::filesystem::remove_all(std::filesystem::path(failed.log_directory).parent_path());
  return lucky.state == elastic::worker_state::succeeded ? 0 : 1;
}

// Prints:
// WARNING ... default rank 1 (local rank 1, pid ...) ended: SIGKILL
// WARNING ... restarting the workers: restart 1 of 2
// rank ... of 2: done in attempt 1
// rank ... of 2: done in attempt 1
// SUCCEEDED with 1 of 2 restarts
// hopeless FAILED
// Root Cause (first observed failure):
//   rank      : 1 (local_rank: 1)
//   exitcode  : 1 (pid: ...)
//   traceback : std::runtime_error: no such data set
