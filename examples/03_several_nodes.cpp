// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job of two to three nodes; an agent runs the workers of each. The nodes meet with c10d, at a
// port of the first. Here all of them are in this process; usually each is a program on its own
// host.
//
//   build/release/examples/03_several_nodes
//
// The third node leaves while the job runs. The others meet again and continue in a smaller world,
// without counting a restart.

#include <elastic/elastic.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

// [node]
elastic::local_agent::options node(const std::string& endpoint, int number) {
  elastic::rendezvous_parameters meeting;
  meeting.backend = "c10d";
  meeting.endpoint = endpoint;  // the same for all nodes
  meeting.run_id = "several";
  meeting.node_name = "node" + std::to_string(number);
  meeting.min_nodes = 2;
  meeting.max_nodes = 3;

  elastic::local_agent::options options;
  options.rendezvous = elastic::rendezvous_registry().make(meeting);
  options.workers.program = "sh";
  options.workers.environment = elastic::environment_from(environ);
  // In a world of three nodes a worker would run for ever.
  options.workers.arguments = {"-c",
                               "echo \"rank $RANK of $WORLD_SIZE\"\n"
                               "if [ $WORLD_SIZE = 3 ]; then exec sleep 600; fi"};
  return options;
}
// [/node]

// Stops an agent as soon as the workers of a world of three nodes run.
class leave_the_largest_world final : public elastic::journal_sink {
 public:
  elastic::local_agent* agent = nullptr;

  void take(const elastic::journal_record& record) override {
    const bool has_started = record.event.kind == elastic::job_event::type::workers_started;
    if (has_started && record.event.world_size == 3) agent->stop({.reason = "it leaves"});
  }
};

int main() {
  const std::string endpoint = "127.0.0.1:" + std::to_string(elastic::free_port("127.0.0.1"));
  asio::io_context context;
  std::vector<std::unique_ptr<elastic::local_agent>> agents;
  std::vector<std::string> ends(3);
  const auto leaver = std::make_shared<leave_the_largest_world>();
  for (int number = 0; number < 3; ++number) {
    elastic::local_agent::options options = node(endpoint, number);
    if (number == 2) {
      options.services.journal =
          std::make_shared<elastic::job_journal>(elastic::job_journal::options{"node2"});
      options.services.journal->add(leaver);
    }
    agents.push_back(std::make_unique<elastic::local_agent>(options));
  }
  leaver->agent = agents[2].get();

  for (std::size_t number = 0; number < agents.size(); ++number) {
    asio::co_spawn(context, agents[number]->run(),
                   [&end = ends[number]](std::exception_ptr failure, elastic::run_result result) {
                     if (failure) std::rethrow_exception(failure);
                     end = to_string(result.state);
                   });
  }
  context.run();
  for (std::size_t number = 0; number < ends.size(); ++number) {
    std::printf("node %zu: %s\n", number, ends[number].c_str());
  }
}

// Prints:
// rank ... of 2
// rank ... of 2
// node 0: SUCCEEDED
// node 1: SUCCEEDED
// node 2: STOPPED
