// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A worker that keeps its state in memory of the agent. In the first attempt, it dies after its
// third step, and then continues with what it has committed. Started by hand, this program runs
// itself as the worker:
//   build/release/examples/21_vault

#include <elastic/elastic.hpp>
#include <elastic/vault.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <vector>

void train(std::vector<double>& weights) {
  for (double& weight : weights) weight = weight / 2 + 1;
}

int work() {
  const elastic::worker_context me = elastic::this_worker();
  // [worker]
  elastic::worker_vault vault;
  std::vector<double> weights(1000);
  std::int64_t step = 0;
  if (const auto found = vault.newest()) {
    vault.read("weights", weights);
    step = found->step;
  }
  // [/worker]
  std::printf("begins at step %d\n", int(step)), std::fflush(stdout);
  // [commit]
  while (step < 5) {
    train(weights);
    const auto result = vault.commit({{"weights", weights}}, ++step);
    if (!result.is_kept) std::fprintf(stderr, "not kept: %s\n", result.reason.c_str());
    if (step == 3 && me.restart_count == 0) std::raise(SIGKILL);
  }
  // [/commit]
  std::printf("ends with %.3f\n", weights[0]);
  return 0;
}

elastic::task<void> supervise(int& code) {
  elastic::launch_config config;
  config.workers.program = std::filesystem::read_symlink("/proc/self/exe");
  config.workers.environment = elastic::environment_from(environ);
  config.standalone = true;
  config.workers.max_restarts = 1;
  elastic::agent_services services;
  elastic::vault_terms terms;
  terms.limit_bytes = 1 << 20;
  add_vault(services, terms);
  const auto agent = elastic::make_agent(config, services);
  const elastic::run_result result = co_await agent->run();
  std::printf("%s\n", to_string(result.state).data());
  code = result.state == elastic::worker_state::succeeded ? 0 : 1;
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
// begins at step 0
// begins at step 3
// ends with 1.938
// SUCCEEDED
