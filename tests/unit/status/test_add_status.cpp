// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/status/add_status.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/run_as_program.hpp>
#include <elastic/status/add_monitor.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>

#include <memory>
#include <string>
#include <vector>

namespace add_status_tests {

using elastic::agent_services;
using elastic::launch_config;
using elastic::program_options;
using elastic::program_run;
using elastic::test::agent_stage;
using elastic::test::log_recorder;
using elastic::test::temporary_directory;

launch_config config_of(int nodes, int workers) {
  launch_config config;
  config.rendezvous.max_nodes = nodes;
  config.rendezvous.node_name = "gpu7";
  config.workers.nproc_per_node = workers;
  config.workers.program = "train";
  return config;
}

std::string names_of_parts(const agent_services& services) {
  std::string names;
  for (const agent_services::part& part : services.parts) names += part.name + " ";
  return names;
}

program_options shown() {
  program_options options;
  elastic::add_status(options);
  options.status = "0";
  return options;
}

TEST_CASE("status: a warning says that the job may be too large for the page", "[status]") {
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
    const auto log = std::make_shared<log_recorder>();
    agent_services services;
    services.log = log->log();
    const launch_config config = config_of(entry.nodes, entry.workers);
    const program_options options = shown();
    const program_run program(config, options, services);
    CHECK(log->has("the status shows up to 2048 nodes and 4096 ranks of other nodes, and this job",
                   elastic::log_level::warning) == entry.is_too_large);
  }
}

TEST_CASE("status: the agent gets the services that its program needs, and no others", "[status]") {
  const launch_config config = config_of(1, 1);
  const agent_services none;
  program_options options;
  elastic::add_status(options);
  SECTION("nothing") {
    options.drain_file = "/run/drain";
    const program_run program(config, options, none);
    CHECK_FALSE(program.services().journal);
    CHECK_FALSE(elastic::detail::internals::of(program.services()).reports);
    CHECK_FALSE(elastic::detail::internals::of(program.services()).tails);
  }
  SECTION("a trace") {
    options.trace = "/tmp/trace";
    const program_run program(config, options, none);
    REQUIRE(program.services().journal);
    CHECK(program.services().journal->node() == "gpu7");
    CHECK_FALSE(elastic::detail::internals::of(program.services()).reports);
  }
  SECTION("a status server") {
    options = shown();
    const program_run program(config, options, none);
    REQUIRE(program.services().journal);
    CHECK(program.services().journal->node() == "gpu7");
    CHECK(elastic::detail::internals::of(program.services()).reports);
    CHECK(elastic::detail::internals::of(program.services()).tails);
    CHECK(elastic::detail::internals::of(program.services()).meter);
    CHECK(names_of_parts(program.services()) == "monitor output status ");
    const auto& links = elastic::detail::internals::of(program.services());
    const auto core =
        std::dynamic_pointer_cast<elastic::detail::job_monitor_core>(links.reports);
    REQUIRE(core);
    CHECK(core->launch().script == "train");
    CHECK(core->launch().log_dir.empty());
    links.tails->locate("/logs/job_x");
    CHECK(core->launch().log_dir == "/logs/job_x");
  }
  SECTION("reports of a job of several nodes") {
    const launch_config large = config_of(2, 1);
    const program_run program(large, options, none);
    CHECK(elastic::detail::internals::of(program.services()).reports);
    CHECK(elastic::detail::internals::of(program.services()).tails);
  }
  SECTION("no reports of a job that is alone") {
    launch_config alone = config_of(2, 1);
    alone.standalone = true;
    const program_run program(alone, options, none);
    CHECK_FALSE(elastic::detail::internals::of(program.services()).reports);
  }
  SECTION("the monitor that it was given") {
    agent_services services;
    const auto monitor = elastic::add_monitor(services, config.rendezvous);
    options = shown();
    const program_run program(config, options, services);
    CHECK(elastic::detail::internals::of(program.services()).reports ==
          elastic::detail::internals::core_of(*monitor));
    CHECK(names_of_parts(program.services()) == "monitor output status ");
  }
  SECTION("those that it was given") {
    agent_services services;
    services.journal = std::make_shared<elastic::job_journal>(elastic::job_journal::options{});
    options = shown();
    const program_run program(config, options, services);
    CHECK(program.services().journal == services.journal);
  }
}

TEST_CASE("status: options that mean nothing are refused", "[status]") {
  struct row {
    std::string status;
    std::string token_file;
    const char* message;
  };
  const temporary_directory folder;
  for (const row& entry :
       {row{"nowhere:x", "", "nowhere:x"}, row{"0", folder / "token", "cannot be read"}}) {
    CAPTURE(entry.message);
    program_options options;
    elastic::add_status(options);
    options.status = entry.status;
    options.status_token_file = entry.token_file;
    const launch_config config = config_of(1, 1);
    const agent_services none;
    try {
      const program_run program(config, options, none);
      FAIL("it was accepted");
    } catch (const elastic::error& refusal) {
      CHECK(refusal.code() == elastic::errc::invalid_argument);
      CHECK_THAT(refusal.what(), elastic::test::contains_text(entry.message));
    }
  }
}

TEST_CASE("status: is added once", "[status]") {
  program_options options;
  elastic::add_status(options);
  CHECK_THROWS_AS(elastic::add_status(options), elastic::error);
}

TIME_TEST("status: the trace has the whole run, and nothing after it", "[status]") {
  const temporary_directory folder;
  agent_stage stage(time);
  program_options options;
  elastic::add_status(options);
  options.trace = folder / "trace";
  agent_services services;
  services.journal = stage.journal;
  services.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &stage.time);
  services.log = stage.log->log();
  const launch_config config = config_of(1, 2);
  const program_run program(config, options, services);
  stage.parts = program.services().parts;
  stage.start(program.run({std::shared_ptr<void>(), &stage.agent()}));
  co_await stage.quiet();
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == elastic::worker_state::succeeded);
  const std::string trace = elastic::test::file_text(options.trace);
  CHECK_THAT(trace, elastic::test::contains_text("rendezvous"));
  elastic::job_event event;
  event.kind = elastic::job_event::type::rendezvous_started;
  stage.journal->record(event);
  CHECK(elastic::test::file_text(options.trace) == trace);
}

}  // namespace add_status_tests
