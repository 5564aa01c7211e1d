// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/launch/run_as_program.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/error.hpp>
#include <elastic/launch/launch_config.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
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
using elastic::test::temporary_directory;

launch_config config_of(int nodes, int workers) {
  launch_config config;
  config.rendezvous.max_nodes = nodes;
  config.rendezvous.node_name = "gpu7";
  config.workers.nproc_per_node = workers;
  return config;
}

/// A part that only notes that it was made and closed.
struct noting_part final : elastic::agent_part {
  explicit noting_part(std::vector<std::string>& notes) : notes_(notes) {
    notes_.push_back("begin");
  }
  elastic::task<void> close() override {
    notes_.push_back("close");
    co_return;
  }
  std::vector<std::string>& notes_;
};

program_options with_notes(std::vector<std::string>& notes) {
  program_options options;
  options.complete = [&notes](const launch_config&, const program_options&, agent_services& made) {
    made.processes.guard_file = "of the module";
    add_part(made, "notes",
             [&notes](const auto&) { return std::make_shared<noting_part>(notes); });
  };
  return options;
}

TEST_CASE("run as program: the agent gets the services that it was given, and no others",
          "[launch]") {
  const launch_config config = config_of(2, 1);
  agent_services services;
  services.processes.guard_file = "of the caller";
  program_options options;
  options.drain_file = "/run/drain";
  const program_run program(config, options, services);
  CHECK_FALSE(program.services().journal);
  CHECK_FALSE(elastic::detail::internals::of(program.services()).reports);
  CHECK_FALSE(elastic::detail::internals::of(program.services()).tails);
  CHECK(program.services().processes.guard_file == "of the caller");
}

TEST_CASE("run as program: a module completes the services", "[launch]") {
  std::vector<std::string> notes;
  const launch_config config = config_of(2, 1);
  const program_options options = with_notes(notes);
  const agent_services none;
  const program_run program(config, options, none);
  CHECK(program.services().processes.guard_file == "of the module");
  CHECK(notes.empty());
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
      {"0", "", {SIGTERM}, "program_options::status needs the module status"},
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
  stage.parts = program.services().parts;
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

TEST_CASE("run as program: a trace without the module that writes it is refused", "[launch]") {
  const launch_config config = config_of(1, 1);
  program_options options;
  options.trace = "/tmp/trace";
  const agent_services none;
  try {
    const program_run program(config, options, none);
    FAIL("it was accepted");
  } catch (const elastic::error& refusal) {
    CHECK(refusal.code() == elastic::errc::invalid_argument);
    CHECK_THAT(refusal.what(), elastic::test::contains_text("program_options::trace"));
  }
}

TIME_TEST("run as program: a part of a module lives while the agent runs, however that ends",
          "[launch][cancellation]") {
  for (const bool is_cancelled : {false, true}) {
    CAPTURE(is_cancelled);
    std::vector<std::string> notes;
    agent_stage stage(time);
    start(stage, with_notes(notes));
    co_await stage.quiet();
    CHECK(notes == std::vector<std::string>{"begin"});
    if (is_cancelled) stage.cancel.emit(asio::cancellation_type::terminal);
    if (!is_cancelled) stage.worker(0).exit(0);
    if (!is_cancelled) stage.worker(1).exit(0);
    co_await stage.quiet();
    CHECK(stage.ended());
    CHECK(notes == std::vector<std::string>{"begin", "close"});
  }
}

}  // namespace run_as_program_tests
