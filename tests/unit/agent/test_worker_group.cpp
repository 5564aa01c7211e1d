// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/worker_group.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/error_of.hpp>
#include <support/fake_launcher.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace worker_group_tests {

using namespace std::chrono_literals;
using elastic::assigned_ranks;
using elastic::errc;
using elastic::exit_status;
using elastic::log_layout;
using elastic::rendezvous_round;
using elastic::run_result;
using elastic::std_streams;
using elastic::stop_plan;
using elastic::task;
using elastic::worker_group;
using elastic::worker_identity;
using elastic::worker_spec;
using elastic::worker_state;
using elastic::test::error_of;
using elastic::test::fake_launcher;
using elastic::test::fake_process;
using elastic::test::manual_time;
using signals = std::vector<int>;

/// A group among fakes.
class group_stage {
 public:
  explicit group_stage(manual_time& clock, int size = 2, log_layout log_files = {})
      : time(clock), launcher(std::make_shared<fake_launcher>()), layout(std::move(log_files)) {
    spec.program = "/usr/bin/trainer";
    spec.nproc_per_node = size;
  }

  /// The group, made from what was set up at the first call.
  worker_group& group() {
    if (!group_) {
      elastic::agent_services services;
      services.launcher = launcher;
      services.time = std::shared_ptr<elastic::time_source>(std::shared_ptr<void>(), &time);
      services.console_out = console_out;
      services.console_err = console_err;
      services.logs = logs;
      services.log = records->log();
      group_.emplace(time.context().get_executor(), spec, services, layout);
    }
    return *group_;
  }

  task<void> start(int attempt = 0) {
    rendezvous_round round;
    assigned_ranks ranks;
    ranks.world_size = spec.nproc_per_node;
    ranks.role_world_size = spec.nproc_per_node;
    return group().start(round, ranks, "a job", attempt);
  }

  task<void> kill_all() {
    stop_plan kill_plan;
    kill_plan.signal = SIGKILL;
    return group().stop(kill_plan);
  }

  fake_process& worker(std::size_t index) { return *launcher->started.at(index); }

  manual_time& time;
  std::shared_ptr<fake_launcher> launcher;
  worker_spec spec;
  log_layout layout;
  std::shared_ptr<elastic::logs_specs> logs;
  std::shared_ptr<elastic::test::log_recorder> records =
      std::make_shared<elastic::test::log_recorder>();
  std::shared_ptr<elastic::test::output_recorder> console_out =
      std::make_shared<elastic::test::output_recorder>();
  std::shared_ptr<elastic::test::output_recorder> console_err =
      std::make_shared<elastic::test::output_recorder>();

 private:
  std::optional<worker_group> group_;
};

// ---- who they are ------------------------------------------------------------------------------

TEST_CASE("worker group: the workers of a node are numbered from its base ranks", "[agent]") {
  worker_spec spec;
  spec.role = "trainer";
  spec.nproc_per_node = 3;
  rendezvous_round round;
  round.group_rank = 2;
  round.group_world_size = 5;
  assigned_ranks ranks;
  ranks.base_rank = 10;
  ranks.world_size = 40;
  ranks.base_role_rank = 4;
  ranks.role_world_size = 20;
  const auto identities = elastic::worker_identities(spec, round, ranks);
  REQUIRE(identities.size() == 3);
  for (int local_rank = 0; local_rank < 3; ++local_rank) {
    const worker_identity& identity = identities[static_cast<std::size_t>(local_rank)];
    CHECK(identity.local_rank == local_rank);
    CHECK(identity.rank == 10 + local_rank);
    CHECK(identity.role_rank == 4 + local_rank);
    CHECK(identity.group_rank == 2);
    CHECK(identity.local_world_size == 3);
    CHECK(identity.world_size == 40);
    CHECK(identity.group_world_size == 5);
    CHECK(identity.role_world_size == 20);
    CHECK(identity.role_name == "trainer");
  }
}

// ---- start -------------------------------------------------------------------------------------

TIME_TEST("worker group: starts in the order of the local ranks", "[agent]") {
  group_stage stage(time, 4);
  CHECK(stage.group().state() == worker_state::init);
  co_await stage.start();
  CHECK(stage.group().state() == worker_state::healthy);
  CHECK(stage.group().running() == 4);
  REQUIRE(stage.group().workers().size() == 4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(stage.worker(rank).local_rank() == static_cast<int>(rank));
    CHECK(stage.group().workers()[rank].pid == stage.worker(rank).pid);
    CHECK_FALSE(stage.group().workers()[rank].end);
  }
  co_await stage.kill_all();
  CHECK(stage.group().running() == 0);
  CHECK(stage.launcher->all_gone());
}

TIME_TEST("worker group: one whose start takes time holds up no other", "[agent]") {
  group_stage stage(time, 3);
  stage.launcher->hold_at = 0;
  std::size_t parallel_starts = 0;
  stage.launcher->on_start = [&](fake_process&) {
    parallel_starts += stage.launcher->holding == 1;
  };
  const bool has_started = co_await elastic::with_deadline(time, time.now() + 1s, stage.start());
  CHECK_FALSE(has_started);
  CHECK(parallel_starts == 2);
  CHECK(stage.launcher->all_gone());
}

TIME_TEST("worker group: one that cannot be started takes the others with it", "[agent]") {
  group_stage stage(time, 3);
  stage.launcher->on_start = [](fake_process& process) {
    if (process.index == 2) throw elastic::error(errc::program_not_executable, "no");
  };
  const auto failure = co_await error_of(stage.start());
  CHECK(failure == errc::program_not_executable);
  CHECK(stage.worker(0).signals == signals{SIGKILL});
  CHECK(stage.worker(1).signals == signals{SIGKILL});
  CHECK(stage.launcher->all_gone());
  CHECK(stage.group().running() == 0);
  // The next attempt begins anew.
  stage.launcher->on_start = nullptr;
  co_await stage.start(1);
  CHECK(stage.group().running() == 3);
  co_await stage.kill_all();
}

TIME_TEST("worker group: one whose workers run is not started again", "[agent]") {
  group_stage stage(time, 2);
  co_await stage.start();
  const auto failure = co_await error_of(stage.start(1));
  CHECK(failure == errc::invalid_argument);
  CHECK(stage.group().running() == 2);
  CHECK(stage.worker(0).signals.empty());
  CHECK(stage.launcher->started.size() == 2);
  co_await stage.kill_all();
  co_await stage.start(1);
  CHECK(stage.launcher->started.size() == 4);
  co_await stage.kill_all();
}

CO_TEST("worker group: services that are empty have their defaults", "[agent]") {
  const auto executor = co_await asio::this_coro::executor;
  worker_spec spec;
  spec.program = "/bin/true";
  log_layout layout;
  const elastic::agent_services none;
  worker_group group(executor, spec, none, layout);
  rendezvous_round round;
  assigned_ranks ranks;
  ranks.world_size = 1;
  co_await group.start(round, ranks, "a job", 0);
  co_await group.wait_for_outcome();
  CHECK(group.state() == worker_state::succeeded);
  const stop_plan plan;
  co_await group.stop(plan);
}

TIME_TEST("worker group: a start that is cancelled leaves none", "[agent]") {
  group_stage stage(time, 3);
  stage.launcher->hold_at = 2;
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  const bool has_started = co_await elastic::with_deadline(time, time.now() + 1s, stage.start());
  CHECK_FALSE(has_started);
  CHECK(stage.launcher->started.size() == 2);
  CHECK(stage.launcher->all_gone());
  CHECK(stage.group().running() == 0);
}

TIME_TEST("worker group: a worker that ends while others are started is not overlooked",
          "[agent]") {
  group_stage stage(time, 3);
  stage.launcher->on_start = [](fake_process& process) {
    if (process.index == 0) process.exit(3);
  };
  co_await stage.start();
  co_await stage.group().wait_for_outcome();
  CHECK(stage.group().state() == worker_state::failed);
  co_await stage.kill_all();
  CHECK(stage.group().failures("host").at(0).status == exit_status::exited(3));
}

// ---- what each gets -----------------------------------------------------------------------------

TIME_TEST("worker group: a worker has variables and processors of its own", "[agent]") {
  group_stage stage(time, 2);
  stage.spec.environment = {{"A", "inherited"}, {"B", "${rank}"}};
  stage.spec.env = {{"A", "${role_name} ${rank}/${local_rank}"}};
  stage.spec.cpu_affinity = {elastic::processor_set::parse("0-3"),
                             elastic::processor_set::parse("4-7")};
  co_await stage.start();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const fake_process& worker = stage.worker(rank);
    CHECK(worker.variable("A") == fmt::format("default {0}/{0}", rank));
    CHECK(worker.variable("B") == "${rank}");
    CHECK(worker.variable("RANK") == std::to_string(rank));
    CHECK(worker.spec.processors == stage.spec.cpu_affinity[rank]);
  }
  co_await stage.kill_all();
}

TIME_TEST("worker group: with virtual local ranks each sees one device", "[agent]") {
  using devices = std::vector<std::string>;
  const struct {
    const char* variable;
    const char* list;
    devices expected;
  } rows[] = {
      {"CUDA_VISIBLE_DEVICES", nullptr, {"0", "1"}},
      {"CUDA_VISIBLE_DEVICES", "5,3", {"5", "3"}},
      {"CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,GPU-c", {"GPU-a", "GPU-b"}},
      {"HIP_VISIBLE_DEVICES", "2,3", {"2", "3"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.variable, row.list);
    group_stage stage(time, 2);
    stage.spec.virtual_local_rank = true;
    if (row.list) stage.spec.environment = {{row.variable, row.list}};
    co_await stage.start();
    for (std::size_t rank = 0; rank < 2; ++rank) {
      CHECK(stage.worker(rank).variable("LOCAL_RANK") == "0");
      CHECK(stage.worker(rank).variable("RANK") == std::to_string(rank));
      CHECK(stage.worker(rank).variable("CUDA_VISIBLE_DEVICES") == row.expected[rank]);
      CHECK(stage.worker(rank).variable(row.variable) == row.expected[rank]);
    }
    co_await stage.kill_all();
  }
}

TEST_CASE("worker spec: what does not fit the number of workers is refused", "[agent]") {
  worker_spec spec;
  spec.program = "/bin/true";
  spec.nproc_per_node = 2;
  spec.cpu_affinity = {elastic::processor_set::parse("0")};
  CHECK_THROWS_WITH(validate(spec), Catch::Contains("processors are given for 1 worker,"));
  spec.cpu_affinity.clear();
  spec.virtual_local_rank = true;
  validate(spec);
  spec.environment["CUDA_VISIBLE_DEVICES"] = "0";
  CHECK_THROWS_WITH(validate(spec), Catch::Contains("CUDA_VISIBLE_DEVICES names fewer devices"));
  spec.environment["HIP_VISIBLE_DEVICES"] = "0,1";
  validate(spec);
  spec.environment["HIP_VISIBLE_DEVICES"] = "0";
  CHECK_THROWS_WITH(validate(spec), Catch::Contains("HIP_VISIBLE_DEVICES names fewer devices"));
  spec.virtual_local_rank = false;
  spec.env = {{"A=B", "1"}};
  CHECK_THROWS_WITH(validate(spec), Catch::Contains("'A=B' is not a name for a variable"));
}

TEST_CASE("worker spec: settings that exclude each other are named as the user gave them",
          "[agent]") {
  worker_spec spec;
  spec.program = "/bin/true";
  spec.on_failure = elastic::failure_policy::replace;
  spec.virtual_local_rank = true;
  CHECK_THROWS_WITH(validate(spec), Catch::Contains("worker_spec::on_failure replace and "
                                                    "worker_spec::virtual_local_rank exclude each "
                                                    "other"));
  spec.naming = [](std::string_view field) { return fmt::format("<{}>", field); };
  CHECK_THROWS_WITH(validate(spec), Catch::Contains("<on_failure> replace and <virtual_local_rank> "
                                                    "exclude each other"));
}

TEST_CASE("worker spec: refusals name the field as the program of its user does", "[agent]") {
  const auto refusal = [](auto&& change) {
    worker_spec spec;
    spec.program = "/bin/true";
    spec.naming = [](std::string_view field) { return "my " + std::string(field); };
    change(spec);
    try {
      validate(spec);
    } catch (const elastic::error& failure) {
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  using spec = worker_spec;
  const std::string negative = " must not be negative";
  CHECK(refusal([](spec& all) { all.max_restarts = -1; }) ==
        "my max_restarts is -1: 0 or more is allowed");
  CHECK(refusal([](spec& all) { all.nproc_per_node = 0; }) ==
        "my nproc_per_node is 0: 1 to 4096 workers on one node are allowed");
  CHECK(refusal([](spec& all) { all.shutdown_timeout = -1s; }) == "my shutdown_timeout" + negative);
  CHECK(refusal([](spec& all) { all.linger = 3601s; }) == "my linger must be from 0 to 3600 s");
  CHECK(refusal([](spec& all) { all.exit_barrier_timeout = -1s; }) ==
        "my exit_barrier_timeout" + negative);
  CHECK(refusal([](spec& all) { all.monitor_interval = 0s; }) ==
        "my monitor_interval must be over 0");
  CHECK(refusal([](spec& all) { all.preempt_grace = -1s; }) == "my preempt_grace" + negative);
  CHECK(refusal([](spec& all) { all.watch_interval = 9ms; }) ==
        "my watch_interval must be 0 (never) or 10 ms at least");
  CHECK(refusal([](spec& all) { all.rejoin_timeout = 0s; }) == "my rejoin_timeout must be over 0");
  CHECK(refusal([](spec& all) { all.liveness.heartbeat_timeout = -1s; }) ==
        "my liveness.heartbeat_timeout" + negative);
  CHECK(refusal([](spec& all) { all.liveness.learn_timeouts = 0.5; })
            .starts_with("my liveness.learn_timeouts is 0.5: "));
  CHECK(refusal([](spec& all) { all.hang_hook.timeout = 0s; })
            .starts_with("my hang_hook: the timeout is 0 s"));
  CHECK(refusal([](spec& all) { all.env = {{"RANK", "7"}}; })
            .starts_with("my env: RANK cannot be chosen"));
  CHECK(refusal([](spec& all) { all.cpu_affinity.resize(2); })
            .starts_with("my cpu_affinity: processors are given for 2 workers"));
}

TEST_CASE("worker spec: a role's name is bounded", "[agent]") {
  worker_spec spec;
  spec.program = "/bin/true";
  spec.role.assign(elastic::limits::worker_role_bytes, 'a');
  validate(spec);
  spec.role += 'a';
  CHECK_THROWS_WITH(validate(spec),
                    Catch::Contains("role: the name has 1025 bytes: up to 1024 are allowed"));
}

TEST_CASE("worker spec: what workers that stay could not be told is refused", "[agent]") {
  worker_spec spec;
  spec.program = "/bin/true";
  const std::string text(2000, 'x');
  spec.env = {{"LONG", text}, {"PLACE", "/scratch/${rank}"}};
  spec.on_failure = elastic::failure_policy::replace;
  validate(spec);
  spec.env.emplace_back("MINE", text + "$rank");
  CHECK_THROWS_WITH(validate(spec), Catch::Contains("the variables with ${rank} or other values of "
                                                    "an epoch have 2030 bytes"));
  spec.on_failure = elastic::failure_policy::restart;
  validate(spec);
}

TIME_TEST("worker group: that redirected output has no file to go to is said once", "[agent]") {
  for (const bool has_tee : {false, true}) {
    group_stage stage(time, 2);
    stage.spec.log_dir = "/dev/null";
    stage.spec.redirects.set(1, std_streams::out);
    if (has_tee) stage.spec.tee = std_streams::both;
    for (const int attempt : {0, 1}) {
      co_await stage.start(attempt);
      co_await stage.kill_all();
    }
    const std::string line = "the output of 1 worker that worker_spec::redirects names is "
                             "discarded: worker_spec::log_dir '/dev/null' has no files";
    CHECK(stage.records->count(line) == (has_tee ? 0u : 1u));
  }
}

TEST_CASE("worker spec: a variable that the agent sets cannot be chosen", "[agent]") {
  worker_spec spec;
  spec.program = "/bin/true";
  for (const std::string name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "ROLE_NAME",
                                 "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE"}) {
    spec.env = {{name, "7"}};
    CHECK_THROWS_WITH(validate(spec), "worker_spec::env: " + name +
                                          " cannot be chosen, since the agent sets it for each "
                                          "worker");
  }
  for (const std::string name : {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "CUDA_VISIBLE_DEVICES", "A"}) {
    spec.env = {{name, "7"}};
    CHECK_NOTHROW(validate(spec));
  }
  // What the workers inherit may have them: an agent inside of another launcher.
  spec.env.clear();
  spec.environment = {{"RANK", "7"}};
  CHECK_NOTHROW(validate(spec));
}

// ---- the outcome -------------------------------------------------------------------------------

task<void> note_outcome(worker_group& group, bool& has_outcome) {
  co_await group.wait_for_outcome();
  has_outcome = true;
}

TIME_TEST("worker group: success is known with the last, failure with the first", "[agent]") {
  for (const bool succeeds : {true, false}) {
    CAPTURE(succeeds);
    group_stage stage(time, 3);
    co_await stage.start();
    bool has_outcome = false;
    asio::co_spawn(time.context(), note_outcome(stage.group(), has_outcome), asio::detached);
    stage.worker(1).exit(0);
    co_await time.sleep_until(time.now());
    CHECK_FALSE(has_outcome);
    stage.worker(2).exit(succeeds ? 0 : 1);
    co_await time.sleep_until(time.now());
    CHECK(has_outcome == !succeeds);
    if (!succeeds) CHECK(stage.worker(0).running());
    if (succeeds) stage.worker(0).exit(0);
    co_await time.sleep_until(time.now());
    CHECK(has_outcome);
    CHECK(stage.group().state() == (succeeds ? worker_state::succeeded : worker_state::failed));
    co_await stage.kill_all();
    CHECK(stage.group().state() == (succeeds ? worker_state::succeeded : worker_state::failed));
  }
}

TIME_TEST("worker group: the first failure has the others asked to end, if that is wanted",
          "[agent]") {
  group_stage stage(time, 3);
  const stop_plan plan{SIGTERM, 30s};
  co_await stage.start();
  stage.group().stop_on_failure(plan);
  co_await time.sleep_until(time.now());
  stage.worker(1).exit(1);
  stage.worker(2).exit(2);
  co_await time.sleep_until(time.now());
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
  co_await stage.group().wait_for_outcome();
  CHECK(stage.group().state() == worker_state::failed);
  co_await stage.group().stop(plan);
  const auto failures = stage.group().failures("host");
  REQUIRE(failures.size() == 3);
  // Two had ended before anybody was asked.
  CHECK_FALSE(failures[0].stopped_by_agent);
  CHECK_FALSE(failures[1].stopped_by_agent);
  CHECK(failures[2].stopped_by_agent);
}

TIME_TEST("worker group: the wait for the outcome can be cancelled and begun again", "[agent]") {
  group_stage stage(time, 2);
  co_await stage.start();
  for (int time_out = 0; time_out < 3; ++time_out) {
    if (time_out == 1) stage.worker(0).exit(0);
    const bool has_outcome =
        co_await elastic::with_deadline(time, time.now() + 1s, stage.group().wait_for_outcome());
    CHECK_FALSE(has_outcome);
  }
  stage.worker(1).exit(0);
  co_await stage.group().wait_for_outcome();
  CHECK(stage.group().state() == worker_state::succeeded);
  co_await stage.kill_all();
}

TIME_TEST("worker group: who waits for the outcome is told of a kill", "[agent]") {
  group_stage stage(time, 2);
  co_await stage.start();
  stage.group().kill();
  co_await stage.group().wait_for_outcome();
  CHECK(stage.group().state() == worker_state::stopped);
  co_await stage.kill_all();
  CHECK(stage.launcher->all_gone());
  for (const run_result::failure& failure : stage.group().failures("host")) {
    CHECK(failure.stopped_by_agent);
  }
}

// ---- stop --------------------------------------------------------------------------------------

TIME_TEST("worker group: a stop that was cancelled goes on with another plan", "[agent]") {
  group_stage stage(time, 2);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
  co_await stage.start();
  stop_plan gentle_plan;
  gentle_plan.grace = 1h;
  const bool has_stopped =
      co_await elastic::with_deadline(time, time.now() + 1min, stage.group().stop(gentle_plan));
  CHECK_FALSE(has_stopped);
  CHECK(stage.group().running() == 2);
  stop_plan firm_plan;
  firm_plan.signal = SIGINT;
  firm_plan.grace = 5s;
  const auto begin = time.now();
  co_await stage.group().stop(firm_plan);
  CHECK(time.now() - begin == 5s);
  const signals expected_signals{SIGTERM, SIGINT, SIGKILL};
  CHECK(stage.worker(0).signals == expected_signals);
  CHECK(stage.group().state() == worker_state::stopped);
  CHECK(stage.launcher->all_gone());
}

TIME_TEST("worker group: signals are passed on to those that run", "[agent]") {
  group_stage stage(time, 2);
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore(SIGUSR1);
  };
  co_await stage.start();
  stage.group().signal(SIGUSR1);
  CHECK(stage.worker(0).signals == signals{SIGUSR1});
  CHECK(stage.worker(1).signals == signals{SIGUSR1});
  co_await stage.kill_all();
  stage.group().signal(SIGUSR1);
  CHECK(stage.worker(1).signals.back() == SIGKILL);
}

TIME_TEST("worker group: who had failed before the stop is to blame, who ends by it is not",
          "[agent]") {
  group_stage stage(time, 5);
  stage.launcher->on_start = [](fake_process& process) {
    if (process.index == 3) process.on_signal = fake_process::exit_with(1);
    if (process.index == 4) {
      process.on_signal = [](fake_process& self, int) {
        self.end(exit_status::signalled(SIGSEGV, true));
      };
    }
  };
  co_await stage.start();
  co_await time.sleep_until(time.now());
  stage.worker(2).exit(9);
  stage.worker(0).exit(8);
  co_await stage.group().wait_for_outcome();
  stop_plan plan;
  co_await stage.group().stop(plan);
  const std::vector<run_result::failure> failures = stage.group().failures("host");
  REQUIRE(failures.size() == 5);
  // In the order of their ends; both were dead before anybody was told to end.
  CHECK(failures[0].local_rank == 2);
  CHECK_FALSE(failures[0].stopped_by_agent);
  CHECK(failures[1].local_rank == 0);
  CHECK_FALSE(failures[1].stopped_by_agent);
  for (std::size_t index = 2; index < 5; ++index) {
    // A crash is nobody's order.
    const bool is_crash = failures[index].status.signal() == SIGSEGV;
    CHECK(failures[index].stopped_by_agent == !is_crash);
  }
}

TEST_CASE("worker group: which ends are due to a stop", "[agent]") {
  using elastic::detail::is_due_to_stop;
  CHECK(is_due_to_stop(exit_status::signalled(SIGINT), SIGINT));
  CHECK(is_due_to_stop(exit_status::signalled(SIGTERM), SIGINT));
  CHECK(is_due_to_stop(exit_status::signalled(SIGKILL), SIGINT));
  CHECK(is_due_to_stop(exit_status::exited(1), SIGINT));
  CHECK(is_due_to_stop(exit_status::exited(0), SIGINT));
  CHECK(is_due_to_stop(exit_status::unknown(), SIGINT));
  for (const int crash : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
    CHECK_FALSE(is_due_to_stop(exit_status::signalled(crash), SIGTERM));
  }
}

TIME_TEST("worker group: starts again after a stop", "[agent]") {
  group_stage stage(time, 2);
  for (int attempt = 0; attempt < 3; ++attempt) {
    co_await stage.start(attempt);
    CHECK(stage.group().state() == worker_state::healthy);
    CHECK(stage.group().failures("host").empty());
    const auto index = static_cast<std::size_t>(2 * attempt);
    CHECK(stage.worker(index).variable("TORCHELASTIC_RESTART_COUNT") == std::to_string(attempt));
    stage.worker(index).exit(1);
    co_await stage.group().wait_for_outcome();
    stop_plan plan;
    co_await stage.group().stop(plan);
    CHECK(stage.group().failures("host").size() == 2);
  }
}

// ---- what a failure tells ----------------------------------------------------------------------

TIME_TEST("worker group: a failure tells all that is known of it", "[agent]") {
  group_stage stage(time, 2, log_layout("", "a job"));
  stage.spec.role = "trainer";
  stage.launcher->on_start = [](fake_process& process) {
    const std::string text = "worker " + std::to_string(process.index) + " says\ngood bye\n";
    REQUIRE(::write(process.spec.stderr_fd, text.data(), text.size()) > 0);
  };
  co_await stage.start(4);
  const std::string error_file = stage.worker(1).variable("TORCHELASTIC_ERROR_FILE");
  CHECK(error_file == stage.layout.root() + "/attempt_4/1/error.json");
  std::ofstream(error_file) << R"({"message": {"message": "ValueError: x", "extraInfo": )"
                            << R"({"py_callstack": "Traceback", "timestamp": "77"}}})";
  co_await time.sleep_until(time.now() + 5s);
  stage.worker(1).exit(3);
  stage.worker(0).end(exit_status::signalled(SIGABRT));
  co_await stage.group().wait_for_outcome();
  co_await stage.kill_all();
  const std::vector<run_result::failure> failures = stage.group().failures("the host");
  REQUIRE(failures.size() == 2);
  const run_result::failure& first_failure = failures[0];
  CHECK(first_failure.rank == 1);
  CHECK(first_failure.local_rank == 1);
  CHECK(first_failure.role == "trainer");
  CHECK(first_failure.host == "the host");
  CHECK(first_failure.pid == stage.worker(1).pid);
  CHECK(first_failure.status == exit_status::exited(3));
  CHECK(first_failure.time == manual_time::wall_start + 5s);
  CHECK(first_failure.error_file == error_file);
  REQUIRE(first_failure.error);
  CHECK(first_failure.error->message == "ValueError: x");
  CHECK(first_failure.timestamp() == 77);
  const std::vector<std::string> last_lines{"worker 1 says", "good bye"};
  CHECK(first_failure.last_stderr == last_lines);
  CHECK_FALSE(failures[1].error);
  CHECK(failures[1].last_stderr.at(0) == "worker 0 says");
  // What is not redirected is shown as it is.
  CHECK(stage.console_err->text.find("worker 0 says\n") != std::string::npos);
  CHECK(stage.console_out->text.empty());
  stage.layout.discard();
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TIME_TEST("worker group: output goes to the files of the attempt", "[agent]") {
  group_stage stage(time, 2, log_layout("", "a job"));
  stage.spec.redirects = elastic::stream_selection(std_streams::both);
  stage.spec.tee.set(1, std_streams::out);
  stage.launcher->on_start = [](fake_process& process) {
    REQUIRE(::write(process.spec.stdout_fd, "to out\n", 7) == 7);
    REQUIRE(::write(process.spec.stderr_fd, "to err\n", 7) == 7);
  };
  co_await stage.start();
  stage.worker(0).exit(0);
  stage.worker(1).exit(1);
  co_await stage.group().wait_for_outcome();
  co_await stage.kill_all();
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(text_of(stage.layout.stdout_file(rank)) == "to out\n");
    CHECK(text_of(stage.layout.stderr_file(rank)) == "to err\n");
  }
  CHECK(stage.console_out->text == "[default1]:to out\n");
  CHECK(stage.console_err->text.empty());
  CHECK(stage.group().failures("host").at(0).last_stderr == std::vector<std::string>{"to err"});
  stage.layout.discard();
}

/// Shows everything behind a prefix of its own; plans for fewer workers than there are, or for none
/// at all, if that is wanted.
struct own_logs final : elastic::logs_specs {
  std::vector<elastic::logs_specs::worker_output> plan(
      const elastic::logs_specs::attempt_logs& attempt) override {
    ++calls;
    if (fails) throw elastic::error(errc::file_access, "no place for logs");
    std::vector<elastic::logs_specs::worker_output> outputs(attempt.workers.size() -
                                                            missing_workers);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      outputs[i].out.kind = elastic::output_plan::how::copy;
      outputs[i].out.prefix = "worker " + std::to_string(attempt.workers[i].rank) + " says ";
      outputs[i].err.kind = elastic::output_plan::how::null;
    }
    return outputs;
  }

  int calls = 0;
  std::size_t missing_workers = 0;
  bool fails = false;
};

TIME_TEST("worker group: logs specs of the user's own decide where output goes", "[agent]") {
  group_stage stage(time, 1);
  const auto logs = std::make_shared<own_logs>();
  stage.logs = logs;
  stage.launcher->on_start = [](fake_process& process) {
    REQUIRE(::write(process.spec.stdout_fd, "hello\n", 6) == 6);
    REQUIRE(::write(process.spec.stderr_fd, "gone\n", 5) == 5);
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    co_await stage.start(attempt);
    co_await stage.kill_all();
  }
  CHECK(logs->calls == 2);
  CHECK(stage.console_out->text == "worker 0 says hello\nworker 0 says hello\n");
  CHECK(stage.console_err->text.empty());
}

TIME_TEST("worker group: logs specs that fail, or plan for others, end the start", "[agent]") {
  group_stage stage(time, 2);
  const auto logs = std::make_shared<own_logs>();
  stage.logs = logs;
  logs->fails = true;
  const auto failure = co_await error_of(stage.start());
  CHECK(failure == errc::file_access);
  logs->fails = false;
  logs->missing_workers = 1;
  const auto plan_failure = co_await error_of(stage.start());
  CHECK(plan_failure == errc::invalid_argument);
  CHECK(stage.launcher->started.empty());
  logs->missing_workers = 0;
  co_await stage.start();
  CHECK(stage.group().running() == 2);
  co_await stage.kill_all();
}

TIME_TEST("worker group: a log file that cannot be opened ends the start", "[agent]") {
  group_stage stage(time, 2, log_layout("", "a job"));
  stage.spec.redirects = elastic::stream_selection(std_streams::both);
  // A directory in the place of the second worker's log file.
  stage.launcher->on_start = [&stage](fake_process& process) {
    if (process.index == 0) std::filesystem::create_directory(stage.layout.stdout_file(1));
  };
  const auto failure = co_await error_of(stage.start());
  CHECK(failure == errc::file_access);
  CHECK(stage.launcher->all_gone());
  stage.layout.discard();
}

/// Starts workers that write to both streams, and ends them.
task<void> run_attempt(group_stage& stage, int attempt) {
  stage.launcher->on_start = [](fake_process& process) {
    for (const int stream : {process.spec.stdout_fd, process.spec.stderr_fd}) {
      if (stream >= 0) REQUIRE(::write(stream, "words\n", 6) == 6);
    }
  };
  co_await stage.start(attempt);
  co_await stage.kill_all();
}

TIME_TEST("worker group: a restart goes on without log files if their directory cannot be made",
          "[agent]") {
  namespace fs = std::filesystem;
  group_stage stage(time, 2, log_layout("", "a job"));
  stage.spec.redirects = elastic::stream_selection(std_streams::both);
  stage.spec.logs.duplicate_stdout_filters = {"words"};
  co_await run_attempt(stage, 0);
  CHECK(stage.console_err->text.empty());
  const std::string root = stage.layout.root();
  fs::remove_all(root);
  std::ofstream(root) << "no directory";
  co_await run_attempt(stage, 1);
  CHECK(stage.console_err->text == "words\nwords\n");
  CHECK(stage.worker(3).variable("TORCHELASTIC_ERROR_FILE").empty());
  CHECK(stage.records->count("attempt 1 has no log files for 2 workers") == 1);
  // Once there is room again, the next attempt has files.
  fs::remove(root);
  co_await run_attempt(stage, 2);
  CHECK(text_of(stage.layout.stderr_file(1)) == "words\n");
  stage.layout.discard();
}

TIME_TEST("worker group: a restart goes on without a log file that cannot be opened", "[agent]") {
  group_stage stage(time, 2, log_layout("", "a job"));
  stage.spec.redirects = elastic::stream_selection(std_streams::both);
  co_await run_attempt(stage, 0);
  // A directory in the place of the second worker's log file.
  stage.launcher->on_start = [&stage](fake_process& process) {
    if (process.index == 2) std::filesystem::create_directory(stage.layout.stdout_file(1));
  };
  co_await stage.start(1);
  CHECK(stage.group().running() == 2);
  CHECK(stage.records->count("attempt 1 has no log files for 1 worker") == 1);
  co_await stage.kill_all();
  stage.layout.discard();
}

TIME_TEST("worker group: what could be corrected before workers ran is a failed start afterwards",
          "[agent]") {
  group_stage stage(time, 1);
  const auto code_of = [&](errc code) {
    const auto failure = std::make_exception_ptr(elastic::error(code, "why"));
    try {
      std::rethrow_exception(stage.group().error_of_run(failure));
    } catch (const elastic::error& thrown) {
      CHECK(thrown.what() == std::string("why"));
      return static_cast<errc>(thrown.code().value());
    }
  };
  CHECK(code_of(errc::file_access) == errc::file_access);
  co_await stage.start();
  for (const errc code : {errc::invalid_argument, errc::file_access, errc::address_in_use}) {
    CHECK(code_of(code) == errc::start_failed);
  }
  CHECK(code_of(errc::program_not_found) == errc::program_not_found);
  co_await stage.kill_all();
}

}  // namespace worker_group_tests
