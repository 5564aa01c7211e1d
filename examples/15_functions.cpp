// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Workers that run a function: it gets its arguments, and its return values and exceptions come
// back by rank. The workers are new processes of this program.
//
//   build/release/examples/15_functions

#include <elastic/elastic.hpp>
#include <elastic/functions.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

// [function]
// At namespace scope, so that every process of this program knows it by its name.
const elastic::entrypoint train("train", [](int epochs, std::string optimizer) {
  const elastic::worker_context me = elastic::this_worker();
  if (me.rank == 1 && me.restart_count == 0) throw std::runtime_error("out of memory");
  if (optimizer != "sgd") throw std::invalid_argument("no optimizer '" + optimizer + "'");
  return 1.0 / (epochs + me.rank);
});
// [/function]

// [launch]
elastic::task<void> run(std::string optimizer) {
  elastic::launch_config config;
  config.workers.environment = elastic::environment_from(environ);
  config.standalone = true;
  config.workers.nproc_per_node = 2;
  config.workers.max_restarts = 1;
  const elastic::run_result result = co_await elastic::launch(config, train, 4, optimizer);
  const std::string state(to_string(result.state));
  std::printf("%s after %d restart\n", state.c_str(), result.restarts);
  for (const auto& [rank, loss] : result.return_values) {
    std::printf("rank %d: loss %.2f\n", rank, std::stod(loss));
  }
  for (const elastic::run_result::failure& failed : result.failures) {
    if (failed.error && !failed.stopped_by_agent) std::puts(failed.error->message.c_str());
  }
}
// [/launch]

// [main]
int main() {
  // A worker runs its function here, and ends.
  if (const auto code = elastic::run_entrypoint()) return *code;
  asio::io_context context;
  for (const std::string optimizer : {"sgd", "magic"}) {
    auto done = asio::co_spawn(context, run(optimizer), asio::use_future);
    context.restart();
    context.run();
    done.get();
  }
}
// [/main]

// Prints:
// SUCCEEDED after 1 restart
// rank 0: loss 0.25
// rank 1: loss 0.20
// FAILED after 1 restart
// std::invalid_argument: no optimizer 'magic'
