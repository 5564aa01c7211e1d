// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Calls that g++ 12 would compile to a double free or a use after free. The interface rejects each
// marked line and no other; documented_calls.cpp shows what to write instead.

#include <elastic/elastic.hpp>
#include <elastic/launch/run_as_program.hpp>
#include <elastic/launch/run_with_signals.hpp>
#include <elastic/functions.hpp>

using namespace elastic;

task<void> launch_braced() {
  co_await launch({.standalone = true});  // refused: no matching function
}

task<void> launch_temporary() {
  co_await launch(launch_config{.standalone = true});  // refused: deleted
}

task<void> launch_moved(launch_config config) {
  co_await launch(std::move(config));  // refused: deleted
}

task<void> launch_braced_with_services(agent_services services) {
  co_await launch({.standalone = true}, services);  // refused: no matching function
}

task<void> launch_with_braced_services(launch_config config) {
  co_await launch(config, {.log = {}});  // refused: no matching function
}

const entrypoint train("train", [](int epochs) { return epochs; });

task<void> launch_function_braced() {
  co_await launch({.standalone = true}, train, 3);  // refused: no matching function
}

task<void> launch_function_moved(launch_config config, agent_services services) {
  co_await launch(std::move(config), services, train, 3);  // refused: deleted
}

task<void> launch_function_with_braced_services(launch_config config) {
  co_await launch(config, {.log = {}}, train, 3);  // refused: no matching function
}

task<void> make_temporary() {
  co_await make_agent(launch_config())->run();  // refused: deleted
}

task<void> make_with_no_services(launch_config config) {
  co_await make_agent(config, {})->run();  // refused: deleted
}

task<void> run_with_braced_plan(local_agent& agent) {
  co_await run_with_signals(agent, {.forward = {SIGUSR1}});  // refused: no matching function
}

task<void> run_with_braced_options(launch_config config) {
  co_await run_as_program(config, {.trace = "trace.json"});  // refused: no matching function
}

task<void> run_with_moved_options(launch_config config, program_options options) {
  co_await run_as_program(config, std::move(options));  // refused: deleted
}

task<void> start_temporary(process_set& processes) {
  co_await processes.start(0, {});                      // refused: deleted
  co_await processes.start(0, process_set::process());  // refused: deleted
}

task<void> command_by_names(local_agent& agent) {
  co_await agent.carry_out({.reason = "by hand"});  // refused: cannot convert | non-aggregate
}

task<void> stop_temporary(worker_spec spec, agent_services services, log_layout& layout) {
  const auto strand = co_await asio::this_coro::executor;
  co_await worker_group(strand, spec, services, layout).stop({});  // refused: discards | rvalue
}

task<void> run_temporary(std::shared_ptr<rendezvous_handler> meeting) {
  co_await local_agent({.rendezvous = meeting}).run();  // refused: deleted
}

task<void> run_moved(local_agent::options options) {
  local_agent agent(options);
  co_await std::move(agent).run();  // refused: deleted
}

void copy(local_agent::options options) {
  local_agent agent(options);
  local_agent second(agent);  // refused: deleted
}

task<void> as_documented(launch_config config, agent_services services,
                         local_agent::options options) {
  local_agent agent(options);
  co_await launch(config);
  co_await launch(config, services);
  co_await launch(config, train, 3);
  co_await launch(config, services, train, 3);
  co_await agent.run();
}
