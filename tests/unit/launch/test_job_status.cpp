// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/job_status.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/observe/job_journal.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <memory>
#include <string>

#include <asio/io_context.hpp>

namespace job_status_tests {

using elastic::agent_services;
using elastic::launch_config;
using elastic::test::log_recorder;

launch_config config_of(int nodes, int workers) {
  launch_config config;
  config.status = "0";
  config.rendezvous.max_nodes = nodes;
  config.rendezvous.node_name = "gpu7";
  config.workers.nproc_per_node = workers;
  return config;
}

TEST_CASE("job status: a warning says that the job may be too large for the page", "[launch]") {
  struct row {
    int nodes;
    int workers;
    bool is_too_large;
  };
  const int most_nodes = static_cast<int>(elastic::limits::viewed_nodes);
  const int most_workers = static_cast<int>(elastic::limits::viewed_workers);
  for (const row& entry : {row{most_nodes, 1, false}, row{most_nodes + 1, 1, true},
                           row{1 + most_workers / 8, 8, false}, row{2 + most_workers / 8, 8, true},
                           row{1, most_workers, false}}) {
    CAPTURE(entry.nodes, entry.workers);
    asio::io_context context;
    const auto log = std::make_shared<log_recorder>();
    agent_services services;
    services.log = log->log();
    const auto server = elastic::show_job(context.get_executor(),
                                          config_of(entry.nodes, entry.workers), services, {});
    CHECK(log->has("--status shows up to 2048 nodes and 4096 ranks of other nodes, and this job",
                   elastic::log_level::warning) == entry.is_too_large);
  }
}

TEST_CASE("job status: the journal's node has the name that the node was given", "[launch]") {
  asio::io_context context;
  agent_services services;
  const auto server = elastic::show_job(context.get_executor(), config_of(2, 1), services, {});
  REQUIRE(services.journal);
  CHECK(services.journal->node() == "gpu7");
}

}  // namespace job_status_tests
