// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Replicas of one program, with real processes: each restarts on its own.

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/roles/replica_set.hpp>
#include <elastic/telemetry/worker_progress.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace replica_set_tests {

using elastic::exit_status;
using elastic::job_command;
using elastic::replica_set;
using elastic::run_result;
using elastic::worker_state;
using words = std::vector<std::string>;

/// Tells of each start.
struct starts final : elastic::agent_part {
  std::vector<started_workers> all;
  std::function<void(const started_workers&)> on_start = [](const started_workers&) {};
  void started(const started_workers& start) override {
    all.push_back(start);
    on_start(start);
  }
};

/// Calls somebody when a line has a word.
struct word_watch final : elastic::log_handler {
  std::string word;
  std::function<void()> on_word = [] {};
  void write(elastic::log_level, std::string_view text) noexcept override {
    if (text.find(word) != text.npos) on_word();
  }
};

/// A program with a set of replicas, which are scripts for the shell.
class program {
 public:
  explicit program(int count, std::string script = "exit 0") {
    elastic::worker_spec& workers = config.workers;
    workers.program = "/bin/sh";
    workers.arguments = {"-c", std::move(script)};
    workers.nproc_per_node = count;
    workers.role = "server";
    workers.environment["PATH"] = "/usr/bin:/bin";
    workers.environment["FILES"] = files.path();
    workers.environment["PUPPET"] = ELASTIC_PUPPET;
    workers.environment["OMP_NUM_THREADS"] = "1";
    workers.environment[remains_.name] = remains_.value;
    workers.shutdown_timeout = std::chrono::hours(1);
    workers.log_dir = files / "logs";
    workers.redirects = elastic::stream_selection(elastic::std_streams::both);
    add_part(services, "observer", observer);
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() { CHECK(remains_.processes().empty()); }

  elastic::test::temporary_directory files;
  elastic::launch_config config;
  std::shared_ptr<starts> observer = std::make_shared<starts>();
  elastic::agent_services services;
  asio::io_context context;
  asio::cancellation_signal cancel;
  std::optional<replica_set> replicas;

  /// Errors: those of the run.
  run_result run() {
    replicas.emplace(config, services);
    return run_again();
  }

  run_result run_again() {
    std::exception_ptr failure;
    std::optional<run_result> result;
    asio::co_spawn(context, replicas->run(),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [&](std::exception_ptr thrown, run_result ended) {
                         failure = thrown;
                         result = std::move(ended);
                       }));
    context.restart();
    context.run();
    if (failure) std::rethrow_exception(failure);
    return *result;
  }

  std::string text(const std::string& file) const {
    return elastic::test::file_text(files / file);
  }

 private:
  elastic::test::leftovers remains_;
};

TEST_CASE("replicas: they have a place, and no world", "[integration][roles]") {
  program host(2, "echo $ROLE_NAME $LOCAL_RANK/$LOCAL_WORLD_SIZE $ROLE_RANK/$ROLE_WORLD_SIZE "
                  "${RANK-none} ${WORLD_SIZE-none} ${MASTER_ADDR-none} > $FILES/$ROLE_RANK");
  host.config.workers.environment["RANK"] = "7";
  host.config.workers.environment["MASTER_ADDR"] = "outer";
  const run_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.reason == "all replicas ended with success");
  CHECK(result.restarts == 0);
  CHECK(host.text("0") == "server 0/2 0/2 none none none\n");
  CHECK(host.text("1") == "server 1/2 1/2 none none none\n");
}

TEST_CASE("replicas: one that fails starts again alone, in the same place",
          "[integration][roles]") {
  // Replica 1 crashes when the others run, and ends all when it is back.
  program host(3, R"(
echo life >> $FILES/pids$ROLE_RANK
test $ROLE_RANK = 1 || exec $PUPPET touch $FILES/runs$ROLE_RANK await $FILES/back exit 0
$PUPPET await $FILES/runs0 await $FILES/runs2 exit 0
echo life $TORCHELASTIC_RESTART_COUNT of $ROLE_RANK
test $TORCHELASTIC_RESTART_COUNT = 0 && exit 3
touch $FILES/back
)");
  host.config.workers.max_restarts = 1;
  const run_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.restarts == 1);
  CHECK(result.max_restarts == 1);
  const auto lives = [&](const std::string& file) {
    const std::string text = host.text(file);
    return std::count(text.begin(), text.end(), '\n');
  };
  CHECK(lives("pids0") == 1);
  CHECK(lives("pids1") == 2);
  CHECK(lives("pids2") == 1);
  REQUIRE(host.observer->all.size() == 2);
  CHECK(host.observer->all[0].stayed == 0);
  CHECK(host.observer->all[1].stayed == 2);
  CHECK(host.observer->all[1].replaced == std::vector<int>{1});
  CHECK(elastic::test::file_text(result.log_directory + "/attempt_0/1/stdout.log") ==
        "life 0 of 1\n");
  CHECK(elastic::test::file_text(result.log_directory + "/attempt_1/1/stdout.log") ==
        "life 1 of 1\n");
}

TEST_CASE("replicas: one that has succeeded is not started again", "[integration][roles]") {
  program host(2, R"(
echo life >> $FILES/lives$ROLE_RANK
test $ROLE_RANK = 0 && exec $PUPPET touch $FILES/done exit 0
test $TORCHELASTIC_RESTART_COUNT = 1 || exec $PUPPET await $FILES/done exit 1
)");
  host.config.workers.max_restarts = 5;
  const run_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(host.text("lives0") == "life\n");
  CHECK(host.text("lives1") == "life\nlife\n");
}

TEST_CASE("replicas: when the restarts are used up, the others are stopped",
          "[integration][roles]") {
  program host(2, "test $ROLE_RANK = 0 && exec $PUPPET hang; echo no model >&2; exit 3");
  host.config.workers.max_restarts = 2;
  const run_result result = host.run();
  CHECK(result.state == worker_state::failed);
  CHECK(result.reason == "replica 1 ended: exit code 3: all 2 restarts have been used");
  CHECK(result.restarts == 2);
  REQUIRE(result.failures.size() == 2);
  CHECK(result.failures[0].local_rank == 1);
  CHECK(result.failures[0].status == exit_status::exited(3));
  CHECK(result.failures[0].last_stderr == words{"no model"});
  CHECK(result.failures[1].stopped_by_agent);
  CHECK(result.failures[1].status == exit_status::signalled(SIGTERM));
  CHECK(std::filesystem::exists(result.log_directory + "/attempt_2/1/stderr.log"));
}

TEST_CASE("replicas: each end is looked at, also of those that end together",
          "[integration][roles]") {
  program host(8, "test $TORCHELASTIC_RESTART_COUNT = 1 || exit 1");
  host.config.workers.max_restarts = 8;
  const run_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.restarts == 8);
  CHECK(result.failures.empty());
}

TEST_CASE("replicas: what one leaves behind is gone before it starts again",
          "[integration][roles]") {
  program host(1, R"(
test $TORCHELASTIC_RESTART_COUNT = 1 && exec test ! -d /proc/$(cat $FILES/child)
$PUPPET hang & echo $! > $FILES/child
exit 1
)");
  host.config.workers.max_restarts = 1;
  CHECK(host.run().state == worker_state::succeeded);
}

TEST_CASE("replicas: one that hangs is ended, and starts again alone", "[integration][roles]") {
  program host(2);
  elastic::worker_spec& workers = host.config.workers;
  workers.program = "python3";
  workers.arguments = {ELASTIC_SOURCE_DIR "/tests/integration/python/replica.py",
                       host.files / "back"};
  workers.max_restarts = 1;
  workers.liveness.heartbeat_timeout = std::chrono::milliseconds(300);
  const auto log = std::make_shared<elastic::test::log_recorder>();
  host.services.log = log->log();
  const run_result result = host.run();
  INFO(log->text());
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.restarts == 1);
  CHECK(log->has("ended: SIGKILL, hung: no heartbeat for "));
  REQUIRE(host.observer->all.size() == 2);
  CHECK(host.observer->all[1].replaced == std::vector<int>{0});
}

TEST_CASE("replicas: stopped, they get the signal", "[integration][roles]") {
  program host(2, "exec $PUPPET hang");
  host.observer->on_start = [&](const auto&) {
    host.replicas->stop({.signal = SIGINT, .reason = "SIGINT received"});
  };
  const run_result result = host.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "SIGINT received");
  CHECK(result.stop_signal == SIGINT);
  REQUIRE(result.failures.size() == 2);
  for (const run_result::failure& each : result.failures) {
    CHECK(each.status == exit_status::signalled(SIGINT));
  }
}

TEST_CASE("replicas: stopped while one waits for its restart", "[integration][roles]") {
  program host(2, "test $ROLE_RANK = 0 && exec $PUPPET await $FILES/never exit 0; exit 1");
  host.config.workers.max_restarts = 3;
  host.config.workers.restart.delay = std::chrono::hours(1);
  host.config.workers.restart.delay_max = std::chrono::hours(1);
  const auto log = std::make_shared<word_watch>();
  log->word = "after 3600 s";
  log->on_word = [&] { host.replicas->stop(); };
  host.services.log = elastic::logger(log, elastic::log_level::info);
  const run_result result = host.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.restarts == 0);
}

TEST_CASE("replicas: a dump has the process of each, also of one that was started again",
          "[integration][roles]") {
  program host(2, "test $ROLE_RANK$TORCHELASTIC_RESTART_COUNT = 10 && exit 1; exec sleep 600");
  host.config.workers.max_restarts = 1;
  std::string dumped;
  host.observer->on_start = [&](const elastic::agent_part::started_workers&) {
    if (host.observer->all.size() < 2) return;
    std::ostringstream out;
    host.replicas->dump(out);
    dumped = out.str();
    host.replicas->stop();
  };
  CHECK(host.run().state == worker_state::stopped);
  CHECK(dumped.find("replica_set: the workers run") == 0);
  CHECK(dumped.find("restarts: 1 of 1") != dumped.npos);
  CHECK(dumped.find("rank 0, pid ") != dumped.npos);
  CHECK(dumped.find("rank 1, pid ") != dumped.npos);
  CHECK(dumped.find("exit") == dumped.npos);
}

TEST_CASE("replicas: stopped before the run, none starts", "[integration][roles]") {
  program host(2, "touch $FILES/ran");
  host.replicas.emplace(host.config, host.services);
  host.replicas->stop();
  const run_result result = host.run_again();
  CHECK(result.state == worker_state::stopped);
  CHECK_FALSE(std::filesystem::exists(host.files / "ran"));
}

TEST_CASE("replicas: a second request kills those that ignore the first", "[integration][roles]") {
  program host(2, "exec $PUPPET hang");
  host.config.workers.ignored_signals = {SIGTERM};
  host.observer->on_start = [&](const auto&) {
    host.replicas->stop({.reason = "enough"});
    host.replicas->stop({.escalates = true});
  };
  const run_result result = host.run();
  CHECK(result.reason == "enough");
  REQUIRE(result.failures.size() == 2);
  for (const run_result::failure& each : result.failures) {
    CHECK(each.status == exit_status::signalled(SIGKILL));
  }
}

TEST_CASE("replicas: cancelled, there is a result", "[integration][roles][cancellation]") {
  program host(2, "exec $PUPPET hang");
  const auto type = GENERATE(asio::cancellation_type::partial, asio::cancellation_type::terminal,
                             asio::cancellation_type::all);
  host.observer->on_start = [&](const auto&) {
    asio::post(host.context, [&] { host.cancel.emit(type); });
  };
  const run_result result = host.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "cancelled");
  const int expected = type == asio::cancellation_type::terminal ? SIGKILL : SIGTERM;
  REQUIRE(result.failures.size() == 2);
  for (const run_result::failure& each : result.failures) {
    CHECK(each.status == exit_status::signalled(expected));
  }
}

TEST_CASE("replicas: a signal reaches each, also one that was started again",
          "[integration][roles]") {
  // Replica 0 fails once. Then both wait for the signal; replica 2 sees that, and fails in turn.
  program host(3, R"(
life=$ROLE_RANK$TORCHELASTIC_RESTART_COUNT
test $life = 00 && exit 1
test $life = 20 && exec $PUPPET await $FILES/01 await $FILES/10 exit 1
test $life = 21 && exit 0
exec $PUPPET on 10 exit 0 touch $FILES/$life hang
)");
  host.config.workers.max_restarts = 2;
  host.config.workers.ignored_signals = {SIGUSR1};
  host.observer->on_start = [&](const auto& start) {
    if (start.restarts == 2) host.replicas->signal(SIGUSR1);
  };
  const run_result result = host.run();
  CHECK(result.state == worker_state::succeeded);
  CHECK(result.restarts == 2);
}

TEST_CASE("replicas: a program that is not there ends the run by an error",
          "[integration][roles]") {
  program host(2);
  host.config.workers.program = "/no/such/program";
  try {
    host.run();
    FAIL("it has run");
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::program_not_found);
  }
}

TEST_CASE("replicas: a program that goes away is an error at the next start, and none is left",
          "[integration][roles]") {
  program host(2, "");
  const std::string path = host.files / "server";
  std::filesystem::copy_file(ELASTIC_PUPPET, path);
  host.config.workers.program = path;
  host.config.workers.arguments = {"await", host.files / "gone${local_rank}", "exit", "1"};
  host.config.workers.max_restarts = 1;
  host.observer->on_start = [&](const auto&) {
    std::filesystem::remove(path);
    std::filesystem::create_directory(host.files / "gone1");
  };
  try {
    host.run();
    FAIL("it has run");
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::program_not_found);
  }
}

TEST_CASE("replicas: a set runs once", "[integration][roles]") {
  program host(1);
  CHECK(host.run().state == worker_state::succeeded);
  CHECK_THROWS_WITH(host.run_again(), "a replica_set runs once");
}

// ---- commands -----------------------------------------------------------------------------------

/// Gives the commands to the set, one when the one before has its outcome; then stops the set.
elastic::task<void> give_commands(replica_set& replicas, std::vector<job_command> commands,
                                  std::vector<job_command::outcome>& outcomes) {
  for (const job_command& command : commands) {
    elastic::task<job_command::outcome> answering = replicas.carry_out(command);
    outcomes.push_back(co_await std::move(answering));
  }
  replicas.stop({.reason = "enough"});
}

TEST_CASE("replicas: commands pause them and start them again", "[integration][roles]") {
  program host(2, "exec $PUPPET hang");
  using kind = job_command::kind;
  const std::vector<job_command> commands{{kind::resume, "by a test"},
                                          {kind::pause, "by a test"},
                                          {kind::pause, "by a test"},
                                          {kind::resume, "by a test"},
                                          {kind::resume, "by a test"}};
  std::vector<job_command::outcome> outcomes;
  host.observer->on_start = [&](const auto&) {
    if (host.observer->all.size() > 1) return;
    asio::co_spawn(host.context, give_commands(*host.replicas, commands, outcomes),
                   asio::detached);
  };
  const run_result result = host.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "enough");
  CHECK(result.restarts == 0);
  REQUIRE(outcomes.size() == 5);
  const auto check = [&](std::size_t place, bool is_done, const char* text) {
    INFO(place);
    CHECK(outcomes[place].is_done == is_done);
    CHECK(outcomes[place].text == text);
  };
  check(0, false, "not resumed: the replicas are not paused");
  check(1, true, "the replicas are paused: none of this node runs");
  check(2, true, "the replicas are already paused");
  check(3, true, "the replicas run again");
  check(4, false, "not resumed: the replicas are not paused");
  CHECK(host.observer->all.size() == 2);
}

TEST_CASE("replicas: each of several commands that come together has its own answer",
          "[integration][roles]") {
  program host(2, "exec $PUPPET hang");
  using kind = job_command::kind;
  std::vector<std::string> answers;
  // The last of them goes on with `then`.
  const auto give = [&](const std::vector<kind>& kinds, const std::function<void()>& then) {
    const std::size_t all = answers.size() + kinds.size();
    for (const kind what : kinds) {
      asio::co_spawn(host.context, host.replicas->carry_out({what, "by a test"}),
                     [&answers, all, then](std::exception_ptr, job_command::outcome came) {
                       answers.push_back(came.text);
                       if (answers.size() == all) then();
                     });
    }
  };
  host.observer->on_start = [&](const auto&) {
    if (host.observer->all.size() > 1) return;
    give({kind::pause, kind::pause}, [&] {
      give({kind::resume, kind::resume, kind::pause},
           [&] { host.replicas->stop({.reason = "enough"}); });
    });
  };
  CHECK(host.run().reason == "enough");
  // What is refused is answered first.
  CHECK(answers == words{"not paused: a pause is asked for already",
                         "the replicas are paused: none of this node runs",
                         "not resumed: the replicas are not paused",
                         "not paused: the replicas are being resumed", "the replicas run again"});
  CHECK(host.observer->all.size() == 2);
}

TEST_CASE("replicas: a pause takes the place of a wait for the next start",
          "[integration][roles]") {
  // Replica 1 fails once, and would start again in an hour.
  program host(2, "test $ROLE_RANK = 1 && mkdir $FILES/failed && exit 1; exec $PUPPET hang");
  host.config.workers.max_restarts = 1;
  host.config.workers.restart.delay = std::chrono::hours(1);
  host.config.workers.restart.delay_max = std::chrono::hours(1);
  const std::vector<job_command> commands{{job_command::kind::pause, "by a test"},
                                          {job_command::kind::resume, "by a test"}};
  std::vector<job_command::outcome> outcomes;
  const auto log = std::make_shared<word_watch>();
  log->word = "after 3600 s";
  log->on_word = [&] {
    asio::co_spawn(host.context, give_commands(*host.replicas, commands, outcomes),
                   asio::detached);
  };
  host.services.log = elastic::logger(log, elastic::log_level::info);
  const run_result result = host.run();
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "enough");
  REQUIRE(outcomes.size() == 2);
  CHECK(outcomes[0].text == "the replicas are paused: none of this node runs");
  CHECK(outcomes[1].text == "the replicas run again");
  CHECK(host.observer->all.size() == 2);
}

/// Breaks when it is asked for stacks.
struct broken_part final : elastic::agent_part {
  elastic::task<std::optional<job_command::outcome>> carry_out(job_command) override {
    throw elastic::error(elastic::errc::file_access, "no stacks");
    co_return std::nullopt;
  }
};

TEST_CASE("replicas: what breaks beside them ends the run", "[integration][roles]") {
  program host(2, "exec $PUPPET hang");
  add_part(host.services, "stacks", std::make_shared<broken_part>());
  std::string answer;
  host.observer->on_start = [&](const auto&) {
    job_command command;
    command.what = job_command::kind::stacks;
    asio::co_spawn(host.context, host.replicas->carry_out(command),
                   [&](std::exception_ptr, job_command::outcome came) { answer = came.text; });
  };
  CHECK_THROWS_WITH(host.run(), "no stacks");
  CHECK(answer == "not carried out: the workers, or the job, ended before");
}

TEST_CASE("replicas: what they do not have is refused", "[roles]") {
  program host(1);
  std::string sentence;
  SECTION("workers that stay when others are replaced") {
    host.config.workers.on_failure = elastic::failure_policy::replace;
    sentence = "replicas have no world: on_failure replace is for workers that have one";
  }
  SECTION("a check of the node") {
    host.config.workers.node_check.command = "true";
    sentence = "replicas have no node check";
  }
  SECTION("a file for lines of all") {
    host.config.workers.logs.duplicate_stderr_filters = {"error"};
    sentence =
        "replicas have no file for lines of all of them: duplicate_stdout_filters and "
        "duplicate_stderr_filters are for workers that start together";
  }
  SECTION("no replica") {
    host.config.workers.nproc_per_node = 0;
    CHECK_THROWS_AS(replica_set(host.config), elastic::error);
    return;
  }
  CHECK_THROWS_WITH(replica_set(host.config), sentence);
}

}  // namespace replica_set_tests
