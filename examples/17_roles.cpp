// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Several roles in one job: a trainer, and rollouts that generate its samples. A rollout that
// crashes restarts without the trainer noticing, and when the trainer has finished, the rest ends.
//
//   build/release/examples/17_roles
//
// Both roles run this program, which checks its role. The samples go through a named pipe.

#include <elastic/elastic.hpp>
#include <elastic/roles.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_future.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace elastic;

// [workers]
int train(const std::string& pipe) {
  std::fstream samples(pipe);  // open for both, so that it does not end with its first writer
  worker_channel agent;
  agent.progress(0, 3);  // this role is ready
  std::string sample;
  for (int step = 1; step <= 3 && std::getline(samples, sample); ++step) agent.progress(step, 3);
  return 0;
}

int roll_out(const std::string& pipe) {
  const bool is_first_life = this_worker().restart_count == 0;
  std::ofstream samples(pipe);
  for (int left = is_first_life ? 1 : 2; left > 0; --left) samples << "a sample" << std::endl;
  if (is_first_life) return 3;
  for (;;) ::pause();
}
// [/workers]

// [roles]
role make_role(std::string name, const std::string& pipe) {
  role made;
  made.name = std::move(name);
  made.config.standalone = true;
  made.config.workers.program = std::filesystem::read_symlink("/proc/self/exe");
  made.config.workers.environment = environment_from(environ);
  made.config.workers.environment["SAMPLES"] = pipe;
  return made;
}

task<void> run(std::string pipe) {
  role trainer = make_role("trainer", pipe);
  role rollout = make_role("rollout", pipe);
  rollout.on_failure = role::policy::restart_role;
  rollout.config.workers.max_restarts = 5;
  rollout.starts_after = {{"trainer", role::condition::event::ready}};
  rollout.stops_with = "trainer";
  role_group::options options;
  options.roles.push_back(trainer);
  options.roles.push_back(rollout);

  const auto executor = co_await asio::this_coro::executor;
  role_group job(executor, options);
  const role_group::result result = co_await run_with_signals(job);
  for (const role_group::result::entry& each : result.roles) {
    std::printf("%s: %s, restarts: %d\n", each.name.c_str(),
                std::string(to_string(each.state)).c_str(), each.run ? each.run->restarts : 0);
  }
  std::printf("%s\n", result.reason.c_str());
}
// [/roles]

int main() {
  if (is_worker()) {
    const std::string pipe = std::getenv("SAMPLES");
    return this_worker().role_name == "trainer" ? train(pipe) : roll_out(pipe);
  }
  const std::filesystem::path pipe =
      std::filesystem::temp_directory_path() / ("samples_" + std::to_string(::getpid()));
  ::mkfifo(pipe.c_str(), 0600);
  asio::io_context context;
  auto done = asio::co_spawn(context, run(pipe), asio::use_future);
  context.run();
  std::filesystem::remove(pipe);
  done.get();
}

// Prints:
// trainer: succeeded, restarts: 0
// rollout: stopped, restarts: 1
// role 'trainer' has succeeded
