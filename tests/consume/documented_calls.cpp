// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Every documented call that g++ 12 might miscompile, with the temporaries that a user would write.
// Runs under AddressSanitizer, and without it at -O2. Calls that g++ 12 does miscompile are in
// forbidden_calls.cpp.

#include <elastic/elastic.hpp>
#include <elastic/functions.hpp>
#include <elastic/launch/run_as_program.hpp>
#include <elastic/launch/run_with_signals.hpp>
#include <elastic/status.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace elastic;

// Long enough that every copy of it lies on the heap, where a double free is noticed.
const std::string long_text = "a text that no small-string optimisation can hold, for sure";

void expect(bool condition, const char* claim) {
  if (condition) return;
  std::printf("not as documented: %s\n", claim);
  std::exit(1);
}

// Members that are not named have a default, so that -Wextra does not warn of them.
launch_config true_config() {
  return {.workers = {.nproc_per_node = 2, .program = "/bin/true", .arguments = {long_text}},
          .standalone = true};
}

local_agent::options true_options() {
  rendezvous_parameters meeting;
  meeting.backend = "c10d";
  meeting.endpoint = "localhost:0";
  meeting.run_id = long_text;
  return {.workers = {.role = long_text, .program = "/bin/true"},
          .rendezvous = rendezvous_registry().make(meeting)};
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
const entrypoint sum("sum", [](std::vector<int> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0);
});

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
  // The braces of a vector make an array, which stands in a statement of its own.
  task<run_result> running = launch(config, sum, std::vector{1, 2, 3});
  const run_result of_list = co_await std::move(running);
  expect(of_list.value_of<int>(0) == 6, "launch(config, sum, std::vector{…})");
}

// The agent that a configuration describes, run where it is made.
task<void> make_and_run() {
  const launch_config config = true_config();
  const run_result result = co_await make_agent(config)->run();
  expect(result.state == worker_state::succeeded, "make_agent(config)->run()");
  agent_services services;
  services.processes.guard_file = "";
  const run_result served = co_await make_agent(config, services)->run();
  expect(served.state == worker_state::succeeded, "make_agent(config, services)->run()");
}

// As a program does, with and without a plan.
task<void> run_with_plan() {
  const launch_config config = true_config();
  const auto agent = make_agent(config);
  const run_result result = co_await run_with_signals(*agent);
  expect(result.state == worker_state::succeeded, "run_with_signals(agent)");
  const auto planned = make_agent(config);
  const signal_plan plan{.forward = {SIGUSR1}};
  const run_result by_plan = co_await run_with_signals(*planned, plan);
  expect(by_plan.state == worker_state::succeeded, "run_with_signals(agent, plan)");
}

// As a program does, by options, in one step and in two.
task<void> run_by_options() {
  const launch_config config = true_config();
  program_options options;
  add_status(options);
  options.trace = "/dev/null";
  agent_services services;
  const run_result result = co_await run_as_program(config, options);
  expect(result.state == worker_state::succeeded, "run_as_program(config, options)");
  const run_result served = co_await run_as_program(config, options, services);
  expect(served.state == worker_state::succeeded, "run_as_program(config, options, services)");
  const program_run program(config, options, services);
  const run_result steps = co_await program.run(make_agent(config, program.services()));
  expect(steps.state == worker_state::succeeded, "program.run(make_agent(…))");
  const std::shared_ptr<local_agent> shared = make_agent(config);
  const run_result temporary = co_await program_run(config, options, services).run(shared);
  expect(temporary.state == worker_state::succeeded, "program_run(…).run(agent)");
}

// A command in braces, and one that is left empty.
task<void> command_in_braces() {
  const launch_config config = true_config();
  const auto agent = make_agent(config);
  co_await agent->run();
  const job_command::outcome empty = co_await agent->carry_out({});
  expect(!empty.is_done, "carry_out({})");
  const job_command::outcome drained =
      co_await agent->carry_out({job_command::kind::drain, "by hand: " + long_text});
  expect(!drained.is_done, "carry_out({kind, reason})");
}

// Keys and values in braces.
task<void> store_in_braces() {
  const std::string key = long_text;
  memory_store shared;
  co_await shared.multi_set({{"host", long_text}, {key, "29400"}});
  const std::vector<std::string> values = co_await shared.multi_get({"host", key});
  expect(values.at(0) == long_text && values.at(1) == "29400", "multi_get({…})");
  co_await shared.wait({"host", std::string(long_text)});
  const bool has_none = co_await shared.check({});
  const bool has_both = co_await shared.check({"host", key});
  const bool has_three = co_await shared.check({"host", key, "port" + long_text});
  expect(has_none && has_both && !has_three, "check({…})");
  const std::vector<std::string> keys{"host", key};
  expect(co_await shared.check(keys), "check(keys)");
}

// A client that is destroyed after its only operation.
task<void> temporary_client() {
  const auto executor = co_await asio::this_coro::executor;
  tcp_store_server::options at_any_port;
  at_any_port.port = 0;
  tcp_store_server server(executor, at_any_port);
  tcp_store::options options;
  options.port = server.port();
  co_await tcp_store(executor, options).set(long_text, long_text);
  const std::string value = co_await tcp_store(executor, options).get(long_text);
  expect(value == long_text, "tcp_store(executor, options).get(…)");
  co_await server.stop();
}

// The ranks of a round, with a role in braces.
task<void> ranks_in_braces() {
  const auto agents = std::make_shared<memory_store>();
  const assigned_ranks ranks = co_await exchange_ranks(agents, {long_text, 2}, 0, 1);
  expect(ranks.world_size == 2, "exchange_ranks(store, {role, 2}, 0, 1)");
}

// A handler that is made by a temporary factory.
task<void> rendezvous_of_temporary() {
  rendezvous_parameters meeting;
  meeting.backend = "c10d";
  meeting.endpoint = "localhost:0";
  meeting.run_id = long_text;
  std::shared_ptr<rendezvous_handler> tried;
  const auto handler = co_await rendezvous_registry().make(meeting).make(tried);
  const rendezvous_round round = co_await handler->next_round();
  expect(round.group_world_size == 1, "registry.make(parameters).make(tried)");
}

// A launcher with its default options.
task<void> launcher_of_defaults() {
  const auto executor = co_await asio::this_coro::executor;
  process_spec spec;
  spec.program = "/bin/true";
  spec.arguments = {long_text};
  const std::unique_ptr<child> direct = co_await pidfd_launcher(executor).launch(spec);
  expect((co_await direct->wait()).is_success(), "pidfd_launcher(executor).launch(spec)");
  const std::unique_ptr<child> guarded = co_await guarded_launcher(executor, {}).launch(spec);
  expect((co_await guarded->wait()).is_success(), "guarded_launcher(executor, {}).launch(spec)");
  bool is_refused = false;
  try {
    co_await pidfd_launcher(executor).launch({});
  } catch (const error&) {
    is_refused = true;
  }
  expect(is_refused, "launch({})");
}

// A round that a user made by hand.
task<void> group_of_temporary_round() {
  const auto executor = co_await asio::this_coro::executor;
  agent_services services;
  services.time = std::make_shared<system_time>();
  services.launcher = std::make_shared<pidfd_launcher>(executor);
  services.console_out = make_console_writer(executor, STDOUT_FILENO);
  services.console_err = make_console_writer(executor, STDERR_FILENO);
  const worker_spec workers = true_config().workers;
  log_layout layout;
  worker_group group(executor, workers, services, layout);
  co_await group.start(rendezvous_round(), {0, 2, 0, 2}, "run " + long_text, 0);
  co_await group.wait_for_outcome();
  expect(group.state() == worker_state::succeeded, "group.start(rendezvous_round(), …)");
  co_await group.stop({});
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
  local_agent::options options = true_options();
  local_agent agent(std::move(options));
  task<run_result> running = agent.run();
  const run_result result = co_await std::move(running);
  expect(result.state == worker_state::succeeded, "a task that is named before it is awaited");
}

// Stopping is not a coroutine, so braces do no harm there.
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
  co_await run_with_plan();
  co_await run_by_options();
  co_await command_in_braces();
  co_await store_in_braces();
  co_await temporary_client();
  co_await ranks_in_braces();
  co_await rendezvous_of_temporary();
  co_await launcher_of_defaults();
  co_await group_of_temporary_round();
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
