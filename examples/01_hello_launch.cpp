// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A launcher of your own: what to run, the agent that runs it, and how it ended.
//
//   build/release/examples/01_hello_launch
//
// An agent sees to the workers of one node. Here the job has one node, so the nodes have nothing
// to agree upon: the "c10d" rendezvous keeps its state in this process.

#include <elastic/elastic.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <cstdio>

// [agent]
elastic::task<elastic::run_result> greet() {
  elastic::worker_spec workers;
  workers.role = "greeter";
  workers.nproc_per_node = 2;
  workers.program = "sh";
  workers.arguments = {"-c", "echo \"hello from $ROLE_NAME $RANK of $WORLD_SIZE\""};
  workers.environment = elastic::environment_from(environ);

  elastic::rendezvous_parameters meeting;
  meeting.backend = "c10d";
  meeting.endpoint = "localhost:0";
  meeting.run_id = "hello";

  elastic::local_agent::options options;
  options.workers = workers;
  options.rendezvous = elastic::rendezvous_registry().make(meeting);
  elastic::local_agent agent(options);
  co_return co_await agent.run();
}
// [/agent]

// [main]
int main() {
  asio::io_context context;
  auto job = asio::co_spawn(context, greet(), asio::use_future);
  context.run();
  const elastic::run_result result = job.get();
  std::printf("%s: %s\n", to_string(result.state).data(), result.reason.c_str());
  return result.state == elastic::worker_state::succeeded ? 0 : 1;
}
// [/main]

// Prints:
// hello from greeter ... of 2
// hello from greeter ... of 2
// SUCCEEDED: all workers ended with success
