// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Every documented way of calling what g++ 12 could miscompile, to be run under AddressSanitizer.
// The ways that it does miscompile are in forbidden_calls.cpp.

#include <elastic/elastic.hpp>
#include <elastic/worker/entrypoint.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace elastic;

// Long enough that every copy of it lies on the heap, where a double free is noticed.
const std::string long_text = "a text that no small-string optimisation can hold, for sure";

void expect(bool condition, const char* claim) {
  if (condition) return;
  std::printf("not as documented: %s\n", claim);
  std::exit(1);
}

launch_config true_config() {
  launch_config config;
  config.workers.program = "/bin/true";
  config.workers.arguments = {long_text};
  config.standalone = true;
  config.workers.nproc_per_node = 2;
  return config;
}

agent_options true_options() {
  agent_options options;
  options.workers.program = "/bin/true";
  options.workers.role = long_text;
  rendezvous_parameters meeting;
  meeting.backend = "c10d";
  meeting.endpoint = "localhost:0";
  meeting.run_id = long_text;
  options.rendezvous = rendezvous_registry().make(meeting);
  return options;
}

// A configuration with a name, the services too.
task<void> launch_named() {
  const launch_config config = true_config();
  const run_result plain = co_await launch(config);
  expect(plain.state == worker_state::succeeded, "launch(config)");
  agent_services services;
  const run_result served = co_await launch(config, services);
  expect(served.state == worker_state::succeeded, "launch(config, services)");
}

const entrypoint add("add",
                     [](int count, std::string text) { return std::to_string(count) + text; });

// A function, its arguments by name and as temporaries.
task<void> launch_function() {
  launch_config config;
  config.standalone = true;
  const std::string named = long_text;
  const run_result by_name = co_await launch(config, add, 3, named);
  expect(by_name.value_of<std::string>(0) == "3" + long_text, "launch(config, add, 3, named)");
  agent_services services;
  const run_result result = co_await launch(config, services, add, 4, std::string(long_text));
  expect(result.value_of<std::string>(0) == "4" + long_text, "launch(…, std::string(…))");
}

// The agent that a configuration describes, for who wants to stop it.
task<void> make_and_run() {
  const launch_config config = true_config();
  const auto agent = make_agent(config);
  const run_result result = co_await agent->run();
  expect(result.state == worker_state::succeeded, "make_agent(config)->run()");
}

// The options as an aggregate in a statement of their own.
task<void> agent_of_aggregate() {
  worker_spec workers;
  workers.program = "/bin/true";
  workers.role = long_text;
  auto meeting = true_options().rendezvous;
  local_agent agent({.workers = workers, .rendezvous = meeting, .services = {}});
  const run_result result = co_await agent.run();
  expect(result.state == worker_state::succeeded, "local_agent agent({.workers = …})");
}

task<void> agent_of_named_options() {
  agent_options options = true_options();
  local_agent agent(std::move(options));
  task<run_result> running = agent.run();
  const run_result result = co_await std::move(running);
  expect(result.state == worker_state::succeeded, "a task that is named before it is awaited");
}

// Stopping is no coroutine, so braces do no harm there.
task<void> stop_with_braces() {
  launch_config config = true_config();
  config.workers.program = "/bin/sleep";
  config.workers.arguments = {"600"};
  const auto agent = make_agent(config);
  agent->stop({.signal = SIGINT, .grace = std::chrono::seconds(5), .reason = long_text});
  const run_result result = co_await agent->run();
  expect(result.state == worker_state::stopped, "stop({.signal = …})");
}

// A deadline on a task, with and without a result.
task<void> race_against_time() {
  system_time time;
  const launch_config config = true_config();
  const auto result =
      co_await with_deadline(time, time.now() + std::chrono::minutes(1), launch(config));
  expect(result && result->state == worker_state::succeeded, "with_deadline(…, launch(config))");
}

task<void> make_calls() {
  co_await launch_named();
  co_await launch_function();
  co_await make_and_run();
  co_await agent_of_aggregate();
  co_await agent_of_named_options();
  co_await stop_with_braces();
  co_await race_against_time();
}

}  // namespace

int main() {
  if (const auto code = run_entrypoint()) return *code;
  asio::io_context context;
  bool done = false;
  asio::co_spawn(context, make_calls(), [&](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
    done = true;
  });
  context.run();
  std::printf(done ? "all as documented\n" : "did not end\n");
  return done ? 0 : 1;
}
