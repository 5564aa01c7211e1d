// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/run_as_program.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/observe/job_journal.hpp>
#include <elastic/observe/job_monitor.hpp>
#include <elastic/telemetry/worker_observer.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <vector>

namespace run_as_program_tests {

using namespace std::chrono_literals;
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
  return config;
}

program_options shown() {
  program_options options;
  options.status = "0";
  return options;
}

TEST_CASE("run as program: a warning says that the job may be too large for the page",
          "[launch]") {
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
    CHECK(log->has("--status shows up to 2048 nodes and 4096 ranks of other nodes, and this job",
                   elastic::log_level::warning) == entry.is_too_large);
  }
}

TEST_CASE("run as program: the agent gets the services that its program needs, and no others",
          "[launch]") {
  const launch_config config = config_of(2, 1);
  const agent_services none;
  program_options options;
  SECTION("nothing") {
    options.drain_file = "/run/drain";
    const program_run program(config, options, none);
    CHECK_FALSE(program.services().journal);
    CHECK_FALSE(program.services().monitor);
    CHECK_FALSE(program.services().tails);
  }
  SECTION("a trace") {
    options.trace = "/tmp/trace";
    const program_run program(config, options, none);
    REQUIRE(program.services().journal);
    CHECK(program.services().journal->node() == "gpu7");
    CHECK_FALSE(program.services().monitor);
  }
  SECTION("a status server") {
    options = shown();
    const program_run program(config, options, none);
    REQUIRE(program.services().journal);
    CHECK(program.services().journal->node() == "gpu7");
    CHECK(program.services().monitor);
    CHECK(program.services().tails);
    const std::shared_ptr<elastic::worker_observer> monitor = program.services().monitor;
    CHECK(program.services().observer == monitor);
  }
  SECTION("those that it was given") {
    agent_services services;
    services.journal = std::make_shared<elastic::job_journal>(elastic::job_journal_options{});
    options = shown();
    const program_run program(config, options, services);
    CHECK(program.services().journal == services.journal);
  }
}

TEST_CASE("run as program: options that mean nothing are refused", "[launch]") {
  struct row {
    std::string status;
    std::string token_file;
    std::vector<int> stop;
    const char* message;
  };
  const temporary_directory folder;
  const std::string missing = folder / "token";
  const std::vector<row> rows = {
      {"nowhere:x", "", {SIGTERM}, "nowhere:x"},
      {"0", missing, {SIGTERM}, "token"},
      {"", missing, {SIGTERM}, "program_options::status_token_file takes program_options::status"},
      {"", "", {SIGKILL}, "SIGKILL cannot be handled"},
  };
  for (const row& entry : rows) {
    CAPTURE(entry.message);
    launch_config config = config_of(1, 1);
    config.signals.stop = entry.stop;
    program_options options;
    options.status = entry.status;
    options.status_token_file = entry.token_file;
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

/// Runs the agent of a stage as a program.
void start(agent_stage& stage, const program_options& options) {
  const launch_config config = config_of(1, 2);
  agent_services services;
  services.journal = stage.journal;
  services.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &stage.time);
  services.log = stage.log->log();
  const program_run program(config, options, services);
  stage.start(program.run({std::shared_ptr<void>(), &stage.agent()}));
}

TIME_TEST("run as program: a request of the caller leaves the workers their grace",
          "[launch][cancellation]") {
  const temporary_directory folder;
  for (const std::string& drain_file : {std::string(), folder / "drain"}) {
    CAPTURE(drain_file);
    agent_stage stage(time);
    stage.launcher->on_start = [](elastic::test::fake_process& process) {
      process.on_signal = elastic::test::fake_process::ignore_all();
    };
    program_options options;
    options.drain_file = drain_file;
    start(stage, options);
    co_await stage.pass(1s);
    stage.cancel.emit(asio::cancellation_type::total);
    co_await stage.pass(30s - 1ns);
    REQUIRE_FALSE(stage.ended());
    co_await stage.pass(1ns);
    co_await stage.quiet();
    REQUIRE(stage.ended());
    CHECK(stage.was_cancelled());
    CHECK(stage.is_clean());
    CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM, SIGKILL});
  }
}

TIME_TEST("run as program: a second request of the caller kills the workers",
          "[launch][cancellation]") {
  const temporary_directory folder;
  agent_stage stage(time);
  stage.launcher->on_start = [](elastic::test::fake_process& process) {
    process.on_signal = elastic::test::fake_process::ignore_all();
  };
  program_options options;
  options.drain_file = folder / "drain";
  start(stage, options);
  co_await stage.pass(1s);
  stage.cancel.emit(asio::cancellation_type::total);
  co_await stage.pass(1s);
  stage.cancel.emit(asio::cancellation_type::total);
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(stage.was_cancelled());
  CHECK(stage.is_clean());
}

TIME_TEST("run as program: a drain file that cannot be watched ends the run", "[launch]") {
  const temporary_directory folder;
  agent_stage stage(time);
  program_options options;
  options.drain_file = folder / "missing/drain";
  start(stage, options);
  co_await stage.end();
  CHECK(stage.failure() == elastic::errc::file_access);
  CHECK(stage.is_clean());
}

TIME_TEST("run as program: the trace has the whole run, and nothing after it", "[launch]") {
  const temporary_directory folder;
  agent_stage stage(time);
  program_options options;
  options.trace = folder / "trace";
  start(stage, options);
  co_await stage.quiet();
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == elastic::worker_state::succeeded);
  const std::string trace = elastic::test::file_text(options.trace);
  CHECK_THAT(trace, elastic::test::contains_text("rendezvous"));
  elastic::job_event event;
  event.kind = elastic::job_event_kind::rendezvous_started;
  stage.journal->record(event);
  CHECK(elastic::test::file_text(options.trace) == trace);
}

}  // namespace run_as_program_tests
