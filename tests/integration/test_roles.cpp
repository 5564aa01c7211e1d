// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Several roles in one job, with real processes: what happens to each role when one is ready,
// succeeds, fails or is stopped.

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/roles/role_group.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/log_recorder.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace roles_tests {

using elastic::error;
using elastic::role;
using role_condition = elastic::role::condition;
using elastic::role_group;
using role_policy = elastic::role::policy;
using role_readiness = elastic::role::readiness;
using role_result = elastic::role_group::result::entry;
using role_state = elastic::role::state;
using roles_result = elastic::role_group::result;
using elastic::worker_state;
using words = std::vector<std::string>;

/// Calls somebody when the workers of so many roles run.
struct starter final : elastic::agent_part {
  int roles = 0;
  std::function<void()> on_start = [] {};
  void started(const started_workers&) override {
    const std::lock_guard lock(mutex_);
    if (++started_ == roles) on_start();
  }

 private:
  std::mutex mutex_;
  int started_ = 0;
};

/// A program with one job of roles.
class program {
 public:
  program() {
    options.log_dir = files / "logs";
    add_part(services, "observer", observer);
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() { CHECK(remains_.processes().empty()); }

  /// A role of puppets, each of which does `acts`.
  role& add(std::string name, words acts) {
    role made;
    made.name = std::move(name);
    elastic::worker_spec& workers = made.config.workers;
    workers.program = ELASTIC_PUPPET;
    workers.arguments = std::move(acts);
    workers.environment["OMP_NUM_THREADS"] = "1";
    workers.environment[remains_.name] = remains_.value;
    workers.shutdown_timeout = std::chrono::hours(1);
    made.config.standalone = true;
    made.ready_at = role_readiness::start;
    options.roles.push_back(std::move(made));
    return options.roles.back();
  }

  /// The same of a script for the shell.
  role& add_script(std::string name, std::string script) {
    role& made = add(std::move(name), {"-c", std::move(script)});
    made.config.workers.program = "/bin/sh";
    return made;
  }

  elastic::test::temporary_directory files;
  role_group::options options;
  std::shared_ptr<starter> observer = std::make_shared<starter>();
  elastic::agent_services services;
  asio::io_context context;
  asio::cancellation_signal cancel;
  std::optional<role_group> group;

  /// Runs the job. Errors: those of its run.
  roles_result run() {
    group.emplace(context.get_executor(), options, services);
    return run_again();
  }

  roles_result run_again() {
    std::exception_ptr failure;
    std::optional<roles_result> result;
    asio::co_spawn(context, group->run(),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [&](std::exception_ptr thrown, roles_result ended) {
                         failure = thrown;
                         result = std::move(ended);
                       }));
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
    return *result;
  }

  /// How often a puppet has written its stamp.
  int starts(const std::string& stamp) const {
    std::istringstream lines(elastic::test::file_text(files / stamp));
    int count = 0;
    for (std::string line; std::getline(lines, line);) count += line.starts_with("start ") ? 1 : 0;
    return count;
  }

 private:
  elastic::test::leftovers remains_;
};

TEST_CASE("roles: a dump has the state of each role and the processes of those that run",
          "[integration][roles]") {
  program host;
  host.add("server", {"hang"});
  role& client = host.add("client", {"exit", "0"});
  client.starts_after.push_back({"server", role_condition::event::success});
  host.observer->roles = 1;
  std::string dumped;
  const auto dump = [&] {
    std::ostringstream out;
    host.group->dump(out);
    return out.str();
  };
  host.observer->on_start = [&] {
    dumped = dump();
    host.group->stop();
  };
  CHECK(host.run().state == worker_state::stopped);
  CHECK(dumped.find("role 'server': ") != dumped.npos);
  CHECK(dumped.find("agent: the workers run") != dumped.npos);
  CHECK(dumped.find("rank 0, pid ") != dumped.npos);
  CHECK(dumped.find("role 'client': waiting") != dumped.npos);
  CHECK(dump().find("agent: ") == dumped.npos);
}

/// What fails when the file is there.
std::string fail_after(const std::string& file) {
  return std::string(ELASTIC_PUPPET) + " await " + file + " exit 3";
}

const role_result& of(const roles_result& result, const std::string& name) {
  const auto found = std::find_if(result.roles.begin(), result.roles.end(),
                                  [&](const role_result& each) { return each.name == name; });
  REQUIRE(found != result.roles.end());
  return *found;
}

TEST_CASE("roles: a job succeeds with the role that it needs, and the rest is stopped",
          "[integration][roles]") {
  program host;
  // A stop before all workers of a role are started would kill them.
  host.add("trainer",
           {"await", host.files / "serving0", "await", host.files / "serving1", "exit", "0"});
  role& rollout = host.add("rollout", {"touch", host.files / "serving${local_rank}", "hang"});
  rollout.config.workers.nproc_per_node = 2;
  rollout.stops_with = "trainer";
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.decided_by == "trainer");
  CHECK(exit_code(result) == 0);
  CHECK(closing_words("job", result).empty());
  CHECK(of(result, "trainer").state == role_state::succeeded);
  const role_result& stopped = of(result, "rollout");
  CHECK(stopped.state == role_state::stopped);
  CHECK(stopped.reason == "role 'trainer' has succeeded");
  REQUIRE(stopped.run);
  REQUIRE(stopped.run->failures.size() == 2);
  for (const elastic::run_result::failure& each : stopped.run->failures) {
    CHECK(each.status == elastic::exit_status::signalled(SIGTERM));
    CHECK(each.role == "rollout");
  }
}

TEST_CASE("roles: each has a world and a directory of its own", "[integration][roles]") {
  program host;
  const std::string tell =
      "echo $ROLE_NAME $RANK/$WORLD_SIZE $ROLE_RANK/$ROLE_WORLD_SIZE $TORCHELASTIC_RUN_ID";
  host.options.run_id = "job1";
  for (const char* name : {"actor", "critic"}) {
    elastic::worker_spec& workers = host.add_script(name, tell).config.workers;
    workers.nproc_per_node = 2;
    workers.redirects = elastic::stream_selection(elastic::std_streams::both);
  }
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(std::filesystem::path(result.log_directory).parent_path() == host.files / "logs");
  for (const std::string name : {"actor", "critic"}) {
    for (const std::string rank : {"0", "1"}) {
      CHECK(elastic::test::file_text(result.log_directory + "/" + name + "/attempt_0/" + rank +
                                     "/stdout.log") ==
            name + " " + rank + "/2 " + rank + "/2 job1/" + name + "\n");
    }
  }
}

TEST_CASE("roles: one starts after another is ready, another after its success",
          "[integration][roles]") {
  program host;
  host.add("data", {"await", host.files / "trainer_runs", "exit", "0"});
  role& trainer = host.add("trainer", {"touch", host.files / "trainer_runs", "exit", "0"});
  trainer.starts_after = {{"data", role_condition::event::ready}};
  role& evaluator =
      host.add_script("evaluator", "test -e " + host.files / "trainer_runs" + " || exit 4");
  evaluator.starts_after = {{"data", role_condition::event::success},
                            {"trainer", role_condition::event::success}};
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.decided_by == "evaluator");
}

TEST_CASE("roles: a role that fails starts again alone", "[integration][roles]") {
  program host;
  const std::string is_second = "test $TORCHELASTIC_RESTART_COUNT = 1";
  role& trainer =
      host.add_script("trainer", is_second + " || exec " + fail_after(host.files / "stamp"));
  trainer.on_failure = role_policy::restart_role;
  trainer.config.workers.max_restarts = 1;
  host.add("rollout", {"stamp", host.files / "stamp", "hang"}).stops_with = "trainer";
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(of(result, "trainer").run->restarts == 1);
  CHECK(of(result, "rollout").run->restarts == 0);
  CHECK(host.starts("stamp") == 1);
  CHECK(result.restarts == 0);
}

TEST_CASE("roles: a replica that fails starts again alone, and no other role notices",
          "[integration][roles]") {
  program host;
  // Replica 1 has spoken before replica 0 fails, and so before the end of the job.
  host.add("trainer", {"await", host.files / "served", "stamp", host.files / "trained", "await",
                       host.files / "back", "exit", "0"});
  const std::string puppet = ELASTIC_PUPPET;
  role& rollout = host.add_script(
      "rollout", "echo $ROLE_NAME $ROLE_RANK/$ROLE_WORLD_SIZE ${RANK-none}; life=$ROLE_RANK"
                 "$TORCHELASTIC_RESTART_COUNT; test $life = 00 && exec " +
                     fail_after(host.files / "trained") + "; test $life = 01 && touch " +
                     host.files / "back" + "; exec " + puppet + " stamp " + host.files / "served" +
                     " hang");
  rollout.has_world = false;
  rollout.config.workers.nproc_per_node = 2;
  rollout.config.workers.max_restarts = 1;
  rollout.config.workers.redirects = elastic::stream_selection(elastic::std_streams::both);
  rollout.on_failure = role_policy::restart_worker;
  rollout.stops_with = "trainer";
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(of(result, "trainer").run->restarts == 0);
  CHECK(host.starts("trained") == 1);
  CHECK(of(result, "rollout").state == role_state::stopped);
  CHECK(of(result, "rollout").run->restarts == 1);
  for (const std::string file : {"attempt_0/0", "attempt_0/1", "attempt_1/0"}) {
    CHECK(elastic::test::file_text(result.log_directory + "/rollout/" + file + "/stdout.log") ==
          "rollout " + file.substr(file.size() - 1) + "/2 none\n");
  }
}

TEST_CASE("roles: replicas that have used up their restarts fail the job",
          "[integration][roles]") {
  program host;
  host.add("trainer", {"hang"});
  role& rollout = host.add("rollout", {"exit", "3"});
  rollout.has_world = false;
  rollout.stops_with = "trainer";
  std::string end = "no restarts were allowed (worker_spec::max_restarts 0)";
  SECTION("at once") {}
  SECTION("after one") {
    rollout.on_failure = role_policy::restart_worker;
    rollout.config.workers.max_restarts = 1;
    end = "the only restart has been used";
  }
  SECTION("although all may start again, which has been in vain") {
    rollout.on_failure = role_policy::restart_job;
    host.options.max_restarts = 1;
    end += "; the only restart of the job has been used";
  }
  const roles_result result = host.run();
  CHECK(result.state == worker_state::failed);
  CHECK(result.decided_by == "rollout");
  CHECK(result.reason == "role 'rollout' failed: replica 0 ended: exit code 3: " + end);
  CHECK(of(result, "trainer").state == role_state::stopped);
  CHECK_THAT(closing_words("job", result), elastic::test::contains_text("exit code 3"));
}

TEST_CASE("roles: one starts after replicas are ready, another after their success",
          "[integration][roles]") {
  program host;
  role& data = host.add("data", {"await", host.files / "trainer_runs", "exit", "0"});
  data.has_world = false;
  data.config.workers.nproc_per_node = 2;
  host.add("trainer", {"touch", host.files / "trainer_runs", "exit", "0"}).starts_after = {
      {"data", role_condition::event::ready}};
  host.add("evaluator", {"exit", "0"}).starts_after = {{"data", role_condition::event::success}};
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(of(result, "data").state == role_state::succeeded);
  CHECK(of(result, "data").reason == "all replicas ended with success");
}

TEST_CASE("roles: a signal and a stop reach replicas, too", "[integration][roles]") {
  program host;
  role& rollout = host.add("rollout", {"on", "10", "exit", "0", "touch", host.files / "serves",
                                       "hang"});
  rollout.has_world = false;
  rollout.config.workers.ignored_signals = {SIGUSR1};
  host.add("judge", {"await", host.files / "serves", "exit", "0"});
  role& last = host.add("last", {"hang"});
  last.has_world = false;
  last.config.workers.ignored_signals = {SIGUSR1};
  last.starts_after = {{"judge", role_condition::event::success}};
  last.stops_with = "rollout";
  host.observer->roles = 3;
  host.observer->on_start = [&] { host.group->signal(SIGUSR1); };
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(of(result, "rollout").state == role_state::succeeded);
  CHECK(of(result, "last").state == role_state::stopped);
}

TEST_CASE("roles: restart-job starts all of them again", "[integration][roles]") {
  program host;
  host.options.max_restarts = 1;
  host.options.run_id = "job1";
  const std::string is_second = "test $TORCHELASTIC_RUN_ID = job1/trainer_1";
  role& trainer =
      host.add_script("trainer", is_second + " || exec " + fail_after(host.files / "stamp"));
  trainer.on_failure = role_policy::restart_job;
  host.add("rollout", {"stamp", host.files / "stamp", "hang"}).stops_with = "trainer";
  host.add("data", {"exit", "0"});
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.restarts == 1);
  CHECK(of(result, "data").state == role_state::succeeded);
  for (const std::string name : {"trainer", "trainer_1", "data", "data_1"}) {
    CHECK(std::filesystem::exists(result.log_directory + "/" + name));
  }
}

TEST_CASE("roles: the job fails with a role, and says which", "[integration][roles]") {
  program host;
  host.add("trainer", {"hang"});
  role& reward = host.add_script("reward", "echo no model >&2; exit 3");
  reward.config.workers.redirects = elastic::stream_selection(elastic::std_streams::both);
  reward.stops_with = "trainer";
  SECTION("whose policy that is") {}
  SECTION("that has used up its restarts") {
    reward.on_failure = role_policy::restart_role;
    reward.config.workers.max_restarts = 1;
  }
  SECTION("although all may start again, which has been in vain") {
    reward.on_failure = role_policy::restart_job;
    host.options.max_restarts = 2;
  }
  const roles_result result = host.run();
  CHECK(result.state == worker_state::failed);
  CHECK(result.decided_by == "reward");
  CHECK(exit_code(result) == 1);
  CHECK(of(result, "reward").state == role_state::failed);
  CHECK(of(result, "trainer").state == role_state::stopped);
  const std::string said = closing_words("job", result);
  CHECK_THAT(said, elastic::test::contains_text("role 'reward' failed"));
  CHECK_THAT(said, elastic::test::contains_text("no model"));
  CHECK_THAT(said, elastic::test::contains_text("trainer: stopped (role 'reward' failed"));
  CHECK_THAT(said, elastic::test::contains_text("Logs: " + host.files / "logs"));
}

TEST_CASE("roles: the failure of a role can be ignored", "[integration][roles]") {
  program host;
  host.add("trainer", {"await", host.files / "failed", "exit", "0"});
  role& evaluator = host.add_script("evaluator", "touch " + host.files / "failed" + "; exit 3");
  evaluator.on_failure = role_policy::ignore;
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.decided_by == "trainer");
  CHECK(of(result, "evaluator").state == role_state::failed);
  CHECK(of(result, "evaluator").run->failures.size() == 1);
}

TEST_CASE("roles: a role that cannot be started ends the job", "[integration][roles]") {
  program host;
  host.add("trainer", {"hang"});
  role& reward = host.add("reward", {});
  reward.config.workers.program = "/no/such/program";
  reward.on_failure = role_policy::ignore;
  try {
    host.run();
    FAIL("it has run");
  } catch (const error& failure) {
    CHECK(failure.code() == elastic::errc::program_not_found);
  }
}

/// A clock that breaks at a pause as short as the first one of who waits for a port.
struct broken_clock final : elastic::time_source {
  elastic::system_time clock;
  elastic::time_point now() const override { return clock.now(); }
  elastic::wall_time wall_now() const override { return clock.wall_now(); }
  elastic::task<void> sleep_until(elastic::time_point deadline) override {
    if (deadline - now() <= std::chrono::milliseconds(5)) {
      throw std::runtime_error("the clock is broken");
    }
    return clock.sleep_until(deadline);
  }
};

TEST_CASE("roles: one whose ports cannot be watched ends the job", "[integration][roles]") {
  program host;
  host.services.time = std::make_shared<broken_clock>();
  role& rollout = host.add_script(
      "rollout", ": ${port.http}; exec " + std::string(ELASTIC_PUPPET) + " hang");
  rollout.ready_at = role_readiness::port;
  rollout.ready_port = "http";
  CHECK_THROWS_WITH(host.run(), "the clock is broken");
}

TEST_CASE("roles: stopped, all end at the same time, and the job has a result",
          "[integration][roles]") {
  program host;
  host.add("trainer", {"hang"});
  host.add("rollout", {"hang"}).stops_with = "trainer";
  role& evaluator = host.add("evaluator", {"exit", "0"});
  evaluator.starts_after = {{"trainer", role_condition::event::success}};
  host.observer->roles = 2;
  host.observer->on_start = [&] {
    host.group->stop({.signal = SIGINT, .reason = "SIGINT received"});
  };
  const roles_result result = host.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "SIGINT received");
  CHECK(result.decided_by.empty());
  CHECK(result.stop_signal == SIGINT);
  CHECK(exit_code(result) == 128 + SIGINT);
  CHECK(of(result, "evaluator").state == role_state::stopped);
  CHECK_FALSE(of(result, "evaluator").run);
  REQUIRE(of(result, "rollout").run->failures.size() == 1);
  CHECK(of(result, "rollout").run->failures[0].status == elastic::exit_status::signalled(SIGINT));
}

/// Starts a command to a group, and keeps its answer.
void command(program& host, elastic::job_command command, std::string& answer) {
  asio::co_spawn(host.context, host.group->carry_out(std::move(command)),
                 [&answer](std::exception_ptr, elastic::job_command::outcome outcome) {
                   answer = std::move(outcome.text);
                 });
}

TEST_CASE("roles: a program completes the services of each role, follows the job and commands it",
          "[integration][roles]") {
  program host;
  host.add("trainer", {"hang"});
  host.add("rollout", {"hang"}).stops_with = "trainer";
  std::vector<std::size_t> completed;
  host.options.complete = [&](std::size_t role, elastic::agent_services& made) {
    CHECK(made.journal);
    completed.push_back(role);
  };
  elastic::role_group::snapshot last;
  host.options.on_change = [&](elastic::role_group::snapshot now) { last = std::move(now); };
  elastic::job_command drain;
  drain.what = elastic::job_command::kind::drain;
  drain.reason = "by a test";
  std::string answer;
  host.observer->roles = 2;
  host.observer->on_start = [&] { command(host, drain, answer); };
  const roles_result result = host.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "drained by a test");
  CHECK(answer == "this node leaves the job");
  CHECK(completed == std::vector<std::size_t>{0, 1});
  CHECK(last.is_over);
  CHECK(last.verdict == worker_state::stopped);
  REQUIRE(last.document.roles.size() == 2);
  CHECK(last.document.roles[0].name == "trainer");

  command(host, drain, answer);
  host.context.restart();
  host.context.run();
  CHECK(answer == "not carried out: the workers, or the job, ended before");
}

TEST_CASE("roles: services that cannot be completed end the job", "[integration][roles]") {
  program host;
  host.add("trainer", {"hang"});
  host.add("rollout", {"hang"}).stops_with = "trainer";
  host.options.complete = [](std::size_t role, elastic::agent_services&) {
    if (role == 1) throw elastic::error(elastic::errc::file_access, "no such service");
  };
  CHECK_THROWS_WITH(host.run(), "no such service");
}

TEST_CASE("roles: a program's request to stop is a warning, unless it was planned",
          "[integration][roles]") {
  const bool is_planned = GENERATE(false, true);
  program host;
  const auto log = std::make_shared<elastic::test::log_recorder>();
  host.services.log = log->log();
  host.add("trainer", {"hang"});
  host.observer->roles = 1;
  host.observer->on_start = [&] {
    host.group->stop({.reason = "enough", .is_planned = is_planned});
  };
  CHECK(host.run().state == worker_state::stopped);
  const std::string text = "enough: stopping the workers";
  CHECK(log->count(text, elastic::log_level::info) == 1);
  CHECK(log->has(text, elastic::log_level::warning) == !is_planned);
}

TEST_CASE("roles: stopped before it runs, a job starts no worker", "[integration][roles]") {
  program host;
  host.add("trainer", {"exit", "1"});
  host.group.emplace(host.context.get_executor(), host.options, host.services);
  host.group->stop();
  const roles_result result = host.run_again();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "stop requested");
  CHECK_FALSE(of(result, "trainer").run);
}

TEST_CASE("roles: a second request kills workers that ignore the first", "[integration][roles]") {
  program host;
  for (const char* name : {"trainer", "rollout"}) {
    host.add(name, {"hang"}).config.workers.ignored_signals = {SIGTERM};
  }
  host.observer->roles = 2;
  host.observer->on_start = [&] {
    host.group->stop({.reason = "enough"});
    host.group->stop({.escalates = true});
  };
  const roles_result result = host.run();
  CHECK(result.reason == "enough");
  for (const role_result& each : result.roles) {
    REQUIRE(each.run->failures.size() == 1);
    CHECK(each.run->failures[0].status == elastic::exit_status::signalled(SIGKILL));
  }
}

TEST_CASE("roles: cancelled, a job has a result", "[integration][roles][cancellation]") {
  program host;
  for (const char* name : {"trainer", "rollout"}) host.add(name, {"hang"});
  const auto type = GENERATE(asio::cancellation_type::partial, asio::cancellation_type::terminal,
                             asio::cancellation_type::all);
  host.observer->roles = 2;
  host.observer->on_start = [&] {
    asio::post(host.context, [&] { host.cancel.emit(type); });
  };
  const roles_result result = host.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "cancelled");
  const int expected = type == asio::cancellation_type::terminal ? SIGKILL : SIGTERM;
  for (const role_result& each : result.roles) {
    REQUIRE(each.run->failures.size() == 1);
    CHECK(each.run->failures[0].status == elastic::exit_status::signalled(expected));
  }
}

TEST_CASE("roles: a signal reaches every worker of every role", "[integration][roles]") {
  program host;
  for (const char* name : {"trainer", "rollout"}) {
    host.add(name, {"on", "10", "exit", "0", "touch", host.files / name, "hang"});
  }
  // The handlers are there when the files are.
  host.add("judge",
           {"await", host.files / "trainer", "await", host.files / "rollout", "exit", "0"});
  role& last = host.add("last", {"hang"});
  last.config.workers.ignored_signals = {SIGUSR1};
  last.starts_after = {{"judge", role_condition::event::success}};
  last.stops_with = "trainer";
  host.observer->roles = 4;
  host.observer->on_start = [&] { host.group->signal(SIGUSR1); };
  const roles_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(of(result, "trainer").state == role_state::succeeded);
  CHECK(of(result, "rollout").state == role_state::succeeded);
}

TEST_CASE("roles: a job runs on a pool of threads", "[integration][roles]") {
  program host;
  host.add("trainer", {"await", host.files / "serving", "exit", "0"});
  for (const char* name : {"rollout", "reward"}) {
    host.add(name, {"touch", host.files / "serving", "hang"}).stops_with = "trainer";
  }
  asio::thread_pool pool(3);
  host.group.emplace(pool.get_executor(), host.options, host.services);
  const roles_result result = host.run_again();
  pool.join();
  CHECK(result.state == worker_state::succeeded);
}

// ---- several nodes ------------------------------------------------------------------------------

/// Two nodes of one job in this process. The roles of both are the same.
class two_nodes {
 public:
  two_nodes() {
    options_.run_id = "job1";
    options_.log_dir = files / "logs";
  }
  two_nodes(const two_nodes&) = delete;
  two_nodes& operator=(const two_nodes&) = delete;
  ~two_nodes() { CHECK(remains_.processes().empty()); }

  /// A role with a worker on each node.
  role& add(std::string name, std::string script) {
    role made;
    made.name = std::move(name);
    elastic::worker_spec& workers = made.config.workers;
    workers.program = "/bin/sh";
    workers.arguments = {"-c", std::move(script)};
    workers.environment["OMP_NUM_THREADS"] = "1";
    workers.environment["PATH"] = "/usr/bin:/bin";
    workers.environment[remains_.name] = remains_.value;
    workers.redirects = elastic::stream_selection(elastic::std_streams::both);
    elastic::rendezvous_parameters& meeting = made.config.rendezvous;
    meeting.backend = "c10d";
    meeting.endpoint = fmt::format("127.0.0.1:{}", port_);
    meeting.min_nodes = 2;
    meeting.max_nodes = 2;
    made.ready_at = role_readiness::start;
    options_.roles.push_back(std::move(made));
    return options_.roles.back();
  }

  role_group::options& options() { return options_; }

  /// Result: of both nodes.
  std::vector<roles_result> run() {
    std::vector<std::unique_ptr<role_group>> groups;
    std::vector<std::optional<roles_result>> results(2);
    std::exception_ptr failure;
    elastic::agent_services services;
    add_part(services, "observer", observer);
    observer->on_start = [&] { groups[0]->stop({.reason = "enough"}); };
    for (auto& result : results) {
      groups.push_back(std::make_unique<role_group>(context_.get_executor(), options_, services));
      for (role& each : options_.roles) each.config.rendezvous.conf["is_host"] = "false";
      asio::co_spawn(context_, groups.back()->run(),
                     [&](std::exception_ptr thrown, roles_result ended) {
                       if (thrown) failure = thrown;
                       result = std::move(ended);
                     });
    }
    context_.run();
    if (failure) std::rethrow_exception(failure);
    return {std::move(*results[0]), std::move(*results[1])};
  }

  elastic::test::temporary_directory files;
  /// Stops the first node, which hosts the server, when the workers of so many roles of both run.
  std::shared_ptr<starter> observer = std::make_shared<starter>();

 private:
  elastic::test::leftovers remains_;
  std::uint16_t port_ = elastic::test::reserved_port();
  role_group::options options_;
  asio::io_context context_;
};

TEST_CASE("roles on two nodes: each has a world of both, and they end together",
          "[integration][roles]") {
  two_nodes job;
  const std::string serving = job.files / "serving";
  job.add("trainer", "echo $RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT; exec " +
                         std::string(ELASTIC_PUPPET) + " await " + serving + "0 await " + serving +
                         "1 exit 0");
  job.add("rollout", "echo $RANK/$WORLD_SIZE $MASTER_ADDR:$MASTER_PORT; touch " + serving +
                         "$RANK; exec " + std::string(ELASTIC_PUPPET) + " hang")
      .stops_with = "trainer";
  const std::vector<roles_result> results = job.run();
  std::vector<std::string> said;
  for (const roles_result& node : results) {
    CHECK(node.state == worker_state::succeeded);
    CHECK(node.decided_by == "trainer");
    CHECK(of(node, "rollout").state == role_state::stopped);
    for (const std::string name : {"trainer", "rollout"}) {
      said.push_back(elastic::test::file_text(node.log_directory + "/" + name +
                                              "/attempt_0/0/stdout.log"));
    }
  }
  // Of trainer and rollout: both ranks of a world, which is not the other's.
  const auto world = [](const std::string& line) { return line.substr(line.find(' ')); };
  CHECK(world(said[0]) == world(said[2]));
  CHECK(world(said[1]) == world(said[3]));
  CHECK(world(said[0]) != world(said[1]));
  CHECK(said[0] != said[2]);
  CHECK(said[1] != said[3]);
}

TEST_CASE("roles on two nodes: a worker of one fails, and its role starts again on both",
          "[integration][roles]") {
  two_nodes job;
  const std::string stamp = job.files / "stamp";
  role& trainer =
      job.add("trainer", "test $TORCHELASTIC_RESTART_COUNT = 1 && exit 0; test $RANK = 1 && exec " +
                             fail_after(stamp + "0") + "; exec " + std::string(ELASTIC_PUPPET) +
                             " await " + stamp + "1 hang");
  trainer.on_failure = role_policy::restart_role;
  trainer.config.workers.max_restarts = 1;
  job.add("rollout", "exec " + std::string(ELASTIC_PUPPET) + " stamp " + stamp + "$RANK hang")
      .stops_with = "trainer";
  for (const roles_result& node : job.run()) {
    CHECK(node.state == worker_state::succeeded);
    CHECK(of(node, "trainer").run->restarts == 1);
    CHECK(of(node, "rollout").run->restarts == 0);
  }
}

TEST_CASE("roles on two nodes: all start again on both", "[integration][roles]") {
  two_nodes job;
  job.options().max_restarts = 1;
  const std::string stamp = job.files / "stamp";
  job.add("trainer", "test $TORCHELASTIC_RUN_ID = job1/trainer_1 && exit 0; test $RANK = 1 && "
                     "exec " +
                         fail_after(stamp + "0") + "; exec " + std::string(ELASTIC_PUPPET) +
                         " hang")
      .on_failure = role_policy::restart_job;
  job.add("rollout", "exec " + std::string(ELASTIC_PUPPET) + " stamp " + stamp + "$RANK hang")
      .stops_with = "trainer";
  for (const roles_result& node : job.run()) {
    CHECK(node.state == worker_state::succeeded);
    CHECK(node.restarts == 1);
  }
}

TEST_CASE("roles on two nodes: without the server that the other node hosted none waits for it",
          "[integration][roles]") {
  two_nodes job;
  job.observer->roles = 4;
  job.options().max_restarts = 1;
  for (const char* name : {"trainer", "rollout"}) {
    job.add(name, "exec " + std::string(ELASTIC_PUPPET) + " hang").on_failure =
        role_policy::restart_job;
  }
  std::optional<error> failure;
  try {
    job.run();
  } catch (const error& thrown) {
    failure = thrown;
  }
  REQUIRE(failure);
  CHECK(failure->code() == elastic::errc::connection_failed);
}

TEST_CASE("roles on two nodes: the job fails on both, and both say by which role",
          "[integration][roles]") {
  two_nodes job;
  job.add("trainer", "exec " + std::string(ELASTIC_PUPPET) + " hang");
  job.add("reward", "test $RANK = 0 && exit 3; exec " + std::string(ELASTIC_PUPPET) + " hang")
      .stops_with = "trainer";
  for (const roles_result& node : job.run()) {
    CHECK(node.state == worker_state::failed);
    CHECK(node.decided_by == "reward");
    CHECK(of(node, "trainer").state == role_state::stopped);
  }
}

TEST_CASE("roles on two nodes: a role of one node is told with an address that others reach",
          "[integration][roles]") {
  two_nodes job;
  const std::string seen = job.files / "seen";
  job.add("trainer", "exec " + std::string(ELASTIC_PUPPET) + " await " + seen + "_server await " +
                         seen + "_alone exit 0")
      .config.rendezvous.local_addr = "127.0.0.3";
  const std::string look =
      "copy=$(mktemp " + seen +
      ".XXXXXX); "
      "until cp $ELASTIC_ROLES $copy && "
      "grep -q '\"'$ROLE_NAME'\": {[^}]*\"address\"' $copy; do sleep 0.01; done; "
      "mv $copy " +
      seen + "_$ROLE_NAME; exec " + std::string(ELASTIC_PUPPET) + " hang";
  for (const char* name : {"server", "alone"}) {
    role& served = job.add(name, look);
    served.stops_with = "trainer";
    served.config.rendezvous.min_nodes = served.config.rendezvous.max_nodes = 1;
  }
  // One that meets nobody is on each node.
  job.options().roles.back().config.standalone = true;
  for (const roles_result& node : job.run()) CHECK(node.state == worker_state::succeeded);
  for (const std::string name : {"server", "alone"}) {
    INFO(name);
    const std::string text = elastic::test::file_text(seen + "_" + name);
    const std::string own = text.substr(text.find("\"" + name + "\""));
    CHECK(own.substr(0, own.find('}')).find(R"("address": "127.0.0.3")") != std::string::npos);
    CHECK(text.find(R"("address": "127.0.0.1")") == std::string::npos);
  }
}

TEST_CASE("roles: a job runs once", "[integration][roles]") {
  program host;
  host.add("trainer", {"exit", "0"});
  CHECK(host.run().state == worker_state::succeeded);
  host.group->stop();
  CHECK_THROWS_AS(host.run_again(), error);
}

}  // namespace roles_tests
