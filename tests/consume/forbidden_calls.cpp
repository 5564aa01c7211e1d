// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Calls that g++ 12 would compile to a double free or a use after free. The interface refuses each
// line that is marked so, and no other; what to write instead is in documented_calls.cpp.

#include <elastic/elastic.hpp>
#include <elastic/worker/entrypoint.hpp>

using namespace elastic;

task<void> launch_braced() {
  co_await launch({.standalone = true});  // refused: deleted
}

task<void> launch_temporary() {
  co_await launch(launch_config{.standalone = true});  // refused: deleted
}

task<void> launch_moved(launch_config config) {
  co_await launch(std::move(config));  // refused: deleted
}

task<void> launch_braced_with_services(agent_services services) {
  co_await launch({.standalone = true}, services);  // refused: deleted
}

task<void> launch_with_braced_services(launch_config config) {
  co_await launch(config, {.log = {}});  // refused: deleted
}

task<void> launch_all_braced() {
  co_await launch({.standalone = true}, {.log = {}});  // refused: deleted
}

const entrypoint train("train", [](int epochs) { return epochs; });

task<void> launch_function_braced() {
  co_await launch({.standalone = true}, train, 3);  // refused: deleted
}

task<void> launch_function_moved(launch_config config, agent_services services) {
  co_await launch(std::move(config), services, train, 3);  // refused: deleted
}

task<void> launch_function_with_braced_services(launch_config config) {
  co_await launch(config, {.log = {}}, train, 3);  // refused: deleted
}

task<void> run_temporary(std::shared_ptr<rendezvous_handler> meeting) {
  co_await local_agent({.rendezvous = meeting}).run();  // refused: deleted
}

task<void> run_moved(agent_options options) {
  local_agent agent(options);
  co_await std::move(agent).run();  // refused: deleted
}

void copy(agent_options options) {
  local_agent agent(options);
  local_agent second(agent);  // refused: deleted
}

task<void> as_documented(launch_config config, agent_services services, agent_options options) {
  local_agent agent(options);
  co_await launch(config);
  co_await launch(config, services);
  co_await launch(config, train, 3);
  co_await launch(config, services, train, 3);
  co_await agent.run();
}
