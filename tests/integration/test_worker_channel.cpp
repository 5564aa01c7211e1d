// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Real workers in Python that use the control channel of elasticrun, or of a program that launches
// them by itself.

#include <elastic/base/event_flag.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/control/worker_channels.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/pidfd_launcher.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/skip.hpp>
#include <support/reserved_port.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace {

namespace channel_test {

using elastic::test::contains_text;
using elastic::test::file_text;
using elastic::test::program_result;
using elastic::test::running_program;
using elastic::test::temporary_directory;
using words = std::vector<std::string>;
using variables = std::map<std::string, std::string>;

struct stage : elastic::test::elasticrun_stage {
  variables environment(variables more = {}) const {
    more.emplace("OMP_NUM_THREADS", "1");
    more.emplace("LOGLEVEL", "INFO");
    return elasticrun_stage::environment(std::move(more));
  }

  static words command(const words& options, const std::string& scenario) {
    const std::string worker = "/tests/integration/python/channel_worker.py";
    return elasticrun({{"--nproc-per-node", "2", "--log-dir", "/dev/null"},
                       options,
                       {ELASTIC_SOURCE_DIR + worker, scenario}});
  }

  /// Runs a job to its end and checks that nothing of it is left.
  program_result run(const words& options, const std::string& scenario, variables more = {}) const {
    const auto result = run_command(command(options, scenario), environment(std::move(more)));
    CHECK(std::filesystem::is_empty(temporary()));
    return result;
  }
};

bool in_order(const std::string& text, const words& parts) {
  std::size_t at = 0;
  for (const std::string& part : parts) {
    at = text.find(part, at);
    if (at == text.npos) return false;
  }
  return true;
}

// ---- hung workers ------------------------------------------------------------------------------

TEST_CASE("worker channel: a time-out that was learned ends a worker that was in time before",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--learn-timeouts", "2"}, "learned");
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("no heartbeat for"));
}

TEST_CASE("worker channel: a hung worker is killed and the group starts again",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--max-restarts", "1", "--heartbeat-timeout", "0.5"}, "hang");
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("is hung: no heartbeat for "));
  CHECK_THAT(result.err, contains_text("(allowed 0.5 s) in section 'all_reduce'; it gets SIGKILL"));
  CHECK_THAT(result.err, contains_text("restart 1 of 1"));
  CHECK_THAT(result.out, contains_text("[0] done\n"));
  CHECK_THAT(result.out, contains_text("[1] done\n"));
}

TEST_CASE("worker channel: the report says why a worker was killed", "[integration][channel]") {
  const stage stage;
  struct row {
    std::string scenario;
    words says;
  };
  const std::vector<row> rows{
      {"hang", {"traceback : hung: no heartbeat for ", "(allowed 0.5 s) in section 'all_reduce'"}},
      {"stuck_timer", {"traceback : hung: timer 'short #2' expired after 0.2 s"}},
      {"stuck_section", {"traceback : hung: section 'save' took ", " s (allowed 0.2 s)"}}};
  for (const auto& [scenario, says] : rows) {
    const auto result = stage.run({"--heartbeat-timeout", "0.5"}, scenario);
    INFO(result.err);
    CHECK(result.code == 1);
    CHECK(in_order(result.err, {"(SIGKILL)", "traceback : hung: "}));
    CHECK(in_order(result.err, says));
  }
}

TEST_CASE("worker channel: a worker that never beats is hung if that was asked for",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--first-heartbeat-timeout", "0.3"}, "mute");
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("hung: no heartbeat since its start "));
  CHECK_THAT(result.err, contains_text(" s ago (allowed 0.3 s)"));
}

TEST_CASE("worker channel: a worker that has become another user is let in",
          "[integration][channel][root]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  if (::geteuid() != 0) return elastic::test::skip("it takes root to become another user");
  const stage stage;
  words command{ELASTIC_ELASTICRUN,
                "--log-dir",
                "/dev/null",
                "--no-python",
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                python,
                "-B",
                std::string(ELASTIC_SOURCE_DIR) + "/tests/integration/python/channel_worker.py",
                "stuck_section"};
  const auto result = elastic::test::run_program(command, stage.environment());
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("is hung: section 'save' took "));
  CHECK(stage.left.processes().empty());
}

// ---- the hook for hung workers -----------------------------------------------------------------

/// Runs a job of which a worker hangs in its first attempt.
program_result run_hooked(const stage& stage, const std::string& hook, const words& more = {}) {
  words options{"--max-restarts", "1", "--heartbeat-timeout", "0.5", "--hang-hook", hook};
  options.insert(options.end(), more.begin(), more.end());
  return stage.run(options, "hang");
}

TEST_CASE("worker channel: a hook looks into the hung worker while it is alive",
          "[integration][channel]") {
  const stage stage;
  const temporary_directory logs;
  const std::string hook =
      "echo rank $ELASTIC_HUNG_RANK local $ELASTIC_HUNG_LOCAL_RANK: $ELASTIC_HUNG_REASON; "
      "kill -0 $ELASTIC_HUNG_PID && echo alive; "
      "tr '\\0' '\\n' < /proc/$ELASTIC_HUNG_PID/environ | grep '^RANK=' >&2; "
      "echo control \"$ELASTIC_CONTROL\"; cat; cd \"$ELASTIC_HUNG_LOG_DIR\" && pwd";
  const auto result = stage.run({"--max-restarts", "1", "--heartbeat-timeout", "0.5", "--hang-hook",
                                 hook, "--log-dir", logs.path()},
                                "hang", {{"ELASTIC_CONTROL", "@of-somebody-else"}});
  INFO(result.err);
  CHECK(result.code == 0);
  std::string file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(logs.path())) {
    if (entry.path().filename() == "hang.log") file = entry.path();
  }
  INFO(file_text(file));
  CHECK_THAT(file, Catch::Matchers::EndsWith("/attempt_0/1/hang.log"));
  CHECK_THAT(file_text(file), contains_text("rank 1 local 1: no heartbeat for "));
  CHECK(in_order(file_text(file), {"in section 'all_reduce'\n", "alive\n", "RANK=1\n", "control \n",
                                   "/attempt_0/1\n"}));
  CHECK(in_order(result.err, {" is hung: ", "it gets SIGKILL after the hang hook",
                              "the hang hook of rank 1 has ended; its output: " + file,
                              " ended: SIGKILL, hung: ", "restart 1 of 1"}));
}

TEST_CASE("worker channel: no worker is signalled before the hooks of all are over",
          "[integration][channel]") {
  const stage stage;
  const temporary_directory meet;
  for (const char* name : {"a", "b"}) REQUIRE(::mkfifo((meet / name).c_str(), 0600) == 0);
  // That of rank 1 ends first, and rank 1 still lives when that of rank 0 looks.
  const std::string hook =
      "case $ELASTIC_HUNG_RANK in "
      "0) echo $ELASTIC_HUNG_PID > $MEET/a; read other < $MEET/b;; "
      "1) read other < $MEET/a; echo $ELASTIC_HUNG_PID > $MEET/b;; esac; "
      "kill -0 $other && echo $ELASTIC_HUNG_RANK sees the other";
  const auto result = stage.run({"--hang-hook", hook}, "stuck_section", {{"MEET", meet.path()}});
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("[hang hook of rank 0]:0 sees the other\n"));
  CHECK_THAT(result.err, contains_text("[hang hook of rank 1]:1 sees the other\n"));
}

TEST_CASE("worker channel: without a log directory the hook's words are shown",
          "[integration][channel]") {
  const stage stage;
  const auto result = run_hooked(stage, "echo one; echo two >&2; echo [$ELASTIC_HUNG_LOG_DIR]");
  INFO(result.err);
  CHECK(result.code == 0);
  for (const std::string line : {"one", "two", "[]"}) {
    CHECK_THAT(result.err, contains_text("[hang hook of rank 1]:" + line + "\n"));
  }
}

TEST_CASE("worker channel: a hook that hangs is killed with all that it has started",
          "[integration][channel]") {
  const stage stage;
  // The first one has also dropped the mark of this test.
  const auto result =
      run_hooked(stage, "(setsid env -i sleep 1357.25 &); sleep 1000 & echo started; sleep 1000",
                 {"--hang-hook-timeout", "10"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(in_order(result.err, {"]:started\n", "the hang hook of rank 1 did not end within 10 s",
                              "restart 1 of 1"}));
  for (const elastic::detail::process_entry& entry : elastic::detail::read_processes()) {
    const std::string command = file_text(fmt::format("/proc/{}/cmdline", entry.pid));
    CHECK(command.find(std::string("sleep\0001357.25", 13)) == std::string::npos);
  }
}

TEST_CASE("worker channel: a hook that fails is named and holds up nothing",
          "[integration][channel]") {
  const stage stage;
  struct row {
    std::string hook;
    std::string says;
  };
  const std::vector<row> rows{
      {"exit 3", "the hang hook of rank 1 failed: exit code 3"},
      {"kill -SEGV $$", "the hang hook of rank 1 failed: SIGSEGV"},
      {"/no/such/hook", "the hang hook of rank 1 failed: exit code 127"},
      {"kill -KILL $ELASTIC_HUNG_PID; exit 4", "the hang hook of rank 1 failed: exit code 4"}};
  for (const auto& [hook, says] : rows) {
    const auto result = run_hooked(stage, hook);
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.err, contains_text(says));
    CHECK_THAT(result.err, contains_text("restart 1 of 1"));
  }
}

TEST_CASE("worker channel: a SIGINT during the hook kills it at once", "[integration][channel]") {
  for (const std::string guard : {"required", "none"}) {
    const stage stage;
    const words options{
        "--heartbeat-timeout", "0.5", "--guard",     guard,
        "--hang-hook-timeout", "600", "--hang-hook", "echo looking; sleep 1000 & sleep 1000"};
    running_program job(stage.command(options, "hang"), stage.environment());
    job.await_err("[hang hook of rank 1]:looking");
    job.signal(SIGINT);
    const auto result = job.wait();
    INFO(guard << "\n" << result.err);
    CHECK(result.code == 128 + SIGINT);
    CHECK_THAT(result.err, contains_text("the hang hook of rank 1 was killed, since the workers "
                                         "are stopped"));
    CHECK(stage.left.processes().empty());
  }
}

TEST_CASE("worker channel: nothing of a hook survives elasticrun", "[integration][channel]") {
  const stage stage;
  const words options{
      "--heartbeat-timeout", "0.5", "--guard",     "required",
      "--hang-hook-timeout", "600", "--hang-hook", "echo looking; sleep 1000 & sleep 1000"};
  running_program job(stage.command(options, "hang"), stage.environment());
  job.await_err("[hang hook of rank 1]:looking");
  job.signal(SIGKILL);
  CHECK(job.wait().code == -SIGKILL);
  CHECK(stage.left.processes_become(0));
}

// ---- preemption --------------------------------------------------------------------------------

/// Until both workers can be asked, and the agent has started them: before, a stop kills them.
void await_ready(running_program& job) {
  job.await_out("ready", 2);
  job.await_err("round 0: ");
}

TEST_CASE("worker channel: on SIGTERM workers have saved a checkpoint before they hear of the end",
          "[integration][channel]") {
  const stage stage;
  running_program job(stage.command({"--preempt-grace", "60"}, "preempted"), stage.environment());
  await_ready(job);
  job.signal(SIGTERM);
  const auto result = job.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 128 + SIGTERM);
  for (const std::string rank : {"[0] ", "[1] "}) {
    CHECK(in_order(result.out,
                   {rank + "asked for a checkpoint", rank + "saved it", rank + "told to end"}));
  }
  // Nobody is told to end before all have saved.
  CHECK(result.out.find("told to end") > result.out.rfind("saved it"));
  CHECK_THAT(result.err, contains_text("checkpoint: saved by 2 of 2 workers"));
  CHECK(stage.left.processes().empty());
}

TEST_CASE("worker channel: workers that do not answer are stopped when the grace is over",
          "[integration][channel]") {
  const stage stage;
  running_program job(stage.command({"--preempt-grace", "0.3"}, "silent"), stage.environment());
  await_ready(job);
  job.signal(SIGTERM);
  const auto result = job.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 128 + SIGTERM);
  for (const std::string rank : {"[0] ", "[1] "}) {
    CHECK_THAT(result.out, contains_text(rank + "told to end\n"));
  }
  CHECK_THAT(result.err, contains_text("checkpoint: local rank 0 did not answer within 0.3 s"));
  CHECK_THAT(result.err, contains_text("checkpoint: local rank 1 did not answer within 0.3 s"));
  CHECK(stage.left.processes().empty());
}

TEST_CASE("worker channel: a SIGINT while workers save kills them", "[integration][channel]") {
  const stage stage;
  running_program job(stage.command({"--preempt-grace", "600"}, "silent"), stage.environment());
  await_ready(job);
  job.signal(SIGTERM);
  job.await_out("asked for a checkpoint", 2);
  job.signal(SIGINT);
  const auto result = job.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 128 + SIGTERM);
  CHECK(result.out.find("told to end") == std::string::npos);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("worker channel: without a grace workers are not asked, as under torchrun",
          "[integration][channel]") {
  const stage stage;
  running_program job(stage.command({}, "preempted"), stage.environment());
  await_ready(job);
  job.signal(SIGTERM);
  const auto result = job.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 128 + SIGTERM);
  CHECK(result.out.find("asked for a checkpoint") == std::string::npos);
}

// ---- what is not of the protocol ----------------------------------------------------------------

TEST_CASE("worker channel: garbage is named, and the job goes on", "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--heartbeat-timeout", "60"}, "garbage");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("is closed: a control message is not a JSON object"));
  CHECK_THAT(result.err, contains_text("is closed: a control message is longer than 4096 bytes"));
  CHECK_THAT(result.err, contains_text("the control channel of local rank 0 is closed: a control "
                                       "message is of an unknown kind: 'dance'"));
  CHECK_THAT(result.out, contains_text("\"refused\""));
  CHECK_THAT(result.out, contains_text("[0] connected: True"));
  CHECK_THAT(result.out, contains_text("[1] connected: True"));
}

TEST_CASE("worker channel: one that writes without end keeps nobody from being watched",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--max-restarts", "1"}, "flood");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("rank 1 (local rank 1, pid"));
  // However late a busy machine lets the agent look.
  CHECK(in_order(result.err, {"is hung: no heartbeat for ", "(allowed 1 s)"}));
  CHECK_THAT(result.out, contains_text("[0] done"));
}

// ---- last words --------------------------------------------------------------------------------

TEST_CASE("worker channel: if a worker asked for it, the job is not started again",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--max-restarts", "5"}, "no_restart");
  INFO(result.err);
  CHECK(result.code == 93);
  CHECK_THAT(result.err, contains_text("asked not to be started again: the options are wrong"));
  CHECK(result.err.find("restarting the workers") == std::string::npos);
}

TEST_CASE("worker channel: a job that comes no further ends before its restarts are used up",
          "[integration][channel]") {
  const stage stage;
  const auto result =
      stage.run({"--max-restarts", "50", "--restart-while-progress", "2"}, "no_further");
  INFO(result.out << result.err);
  CHECK(result.code == 93);
  CHECK_THAT(result.err, contains_text("restarting the workers: restart 3 of 50"));
  CHECK_THAT(result.err, contains_text("stopping the workers: 2 attempts in a row came no further "
                                       "than step 4"));
}

TEST_CASE("worker channel: a node that a worker calls bad leaves with the reason",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--max-restarts", "5"}, "bad_node");
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("this node leaves the job: rank 0 says that this node is "
                                       "bad: GPU 3 fell off the bus"));
  CHECK_THAT(result.err, contains_text("FAILED on this node, which has left the job"));
}

/// The options of one of several nodes.
words meeting_at(std::uint16_t port, const std::string& sizes) {
  return {"--nnodes",        sizes,
          "--rdzv-backend",  "c10d",
          "--rdzv-id",       "job",
          "--rdzv-endpoint", fmt::format("localhost:{}", port),
          "--rdzv-conf",     "last_call_timeout=0.5",
          "--max-restarts",  "5"};
}

TEST_CASE("worker channel: the other nodes go on without one that is bad",
          "[integration][channel][nodes]") {
  const stage stage;
  const words options = meeting_at(elastic::test::reserved_port(), "1:2");
  const words command = stage.command(options, "one_of_nodes");
  // It is bad once the other one has its workers: of what happens before a node hears only that
  // there is another round.
  const std::string others = stage.folder / "others";
  running_program good(command, stage.environment({{"OTHERS", others}}));
  good.await_out("world 1 attempt 0", 2);
  running_program bad(command, stage.environment({{"BEHAVIOUR", "bad"}, {"OTHERS", others}}));
  const auto result = bad.wait();
  INFO(result.err << good.err());
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("FAILED on this node, which has left the job: rank "));
  // Either node can have the higher ranks: they follow host and pid, and pids wrap around.
  CHECK_THAT(result.err, contains_text(" says that this node is bad: GPU 3 fell off the bus"));
  good.await_out("world 1 attempt 0", 4);
  good.await_err("this uses up no restart", 2);
  good.signal(SIGTERM);
  CHECK(good.wait().code == 128 + SIGTERM);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("worker channel: a worker that must not be started again ends the job on all nodes",
          "[integration][channel][nodes]") {
  const stage stage;
  const words options = meeting_at(elastic::test::reserved_port(), "2");
  const words command = stage.command(options, "one_of_nodes");
  running_program first(command, stage.environment());
  running_program second(command, stage.environment({{"BEHAVIOUR", "final"}}));
  const auto failed = second.wait();
  const auto other = first.wait();
  INFO(failed.err << other.err);
  CHECK(failed.code == 93);
  CHECK(other.code == 1);
  CHECK_THAT(failed.err, contains_text("asked not to be started again: the options are wrong"));
  CHECK_THAT(other.err, contains_text("asked not to be started again: the options are wrong"));
  CHECK(other.out.find("attempt 1") == std::string::npos);
  CHECK(failed.out.find("attempt 1") == std::string::npos);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("worker channel: a Python worker that closes it ends the wait of its other threads",
          "[integration][channel]") {
  const auto result = elastic::test::run_program(
      {"python3", ELASTIC_SOURCE_DIR "/tests/integration/python/channel_end.py"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "all is as expected\n");
}

// ---- PyTorch's timers ---------------------------------------------------------------------------

TEST_CASE("worker channel: a timer of PyTorch's own client ends a worker that is stuck",
          "[integration][channel][torch]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  const stage stage;
  const auto result = stage.run({"--max-restarts", "1"}, "torch_timer",
                                {{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}, {"PYTHON_EXEC", python}});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("rank 1 (local rank 1, pid"));
  CHECK_THAT(result.err, contains_text("is hung: timer 'stuck (pid "));
  CHECK_THAT(result.err, contains_text("restart 1 of 1"));
  CHECK_THAT(result.out, contains_text("[0] done"));
}

TEST_CASE("worker channel: what is not a timer request is named, and harms nobody",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({}, "timer_garbage",
                                {{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"},
                                 {"TORCHELASTIC_TIMER_FILE", stage.folder / "timers"}});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const std::string file = "timer file '" + (stage.folder / "timers") + "'";
  CHECK_THAT(result.err, contains_text(file + ": a timer request is not a JSON object"));
  CHECK_THAT(result.err, contains_text(file + ": a line is longer than 4096 bytes"));
  CHECK_THAT(result.err, contains_text(file + ": pid 1 is of no worker of this node"));
}

TEST_CASE("worker channel: the FIFO of timers is for this user alone, under a name of its own",
          "[integration][channel]") {
  const stage stage;
  std::set<std::string> names;
  for (const char* const umask : {"000", "022", "077"}) {
    const words launcher = elastic::test::elasticrun_stage::elasticrun(
        {{"--log-dir", "/dev/null", "--no-python", "sh", "-c",
          "stat -c '%a %F %n' \"$TORCHELASTIC_TIMER_FILE\""}});
    words command{"sh", "-c", fmt::format("umask {}; exec \"$@\"", umask), "sh"};
    command.insert(command.end(), launcher.begin(), launcher.end());
    const auto result = stage.run_command(
        command, stage.environment({{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}}));
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK_THAT(result.out, contains_text("600 fifo "));
    names.insert(result.out);
    CHECK(std::filesystem::is_empty(stage.temporary()));
  }
  // Nobody can guess it, and lay something there first.
  CHECK(names.size() == 3);
}

TEST_CASE("worker channel: a timer file that is not a FIFO is named and left alone",
          "[integration][channel]") {
  const stage stage;
  const temporary_directory elsewhere;
  std::ofstream(elsewhere / "precious") << "data";
  const auto result = stage.run({}, "hang",
                                {{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"},
                                 {"TORCHELASTIC_TIMER_FILE", elsewhere / "precious"},
                                 {"PET_MAX_RESTARTS", "1"},
                                 {"PET_HEARTBEAT_TIMEOUT", "0.5"}});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, contains_text("timer file '" + (elsewhere / "precious") +
                                       "' (TORCHELASTIC_TIMER_FILE) is not a FIFO"));
  CHECK(file_text(elsewhere / "precious") == "data");
  const auto shown = stage.run_command(
      elastic::test::elasticrun_stage::elasticrun(
          {{"--log-dir", "/dev/null", "--no-python", "sh", "-c",
            "echo \"timer=${TORCHELASTIC_TIMER_FILE-none}\""}}),
      stage.environment({{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"},
                         {"TORCHELASTIC_TIMER_FILE", elsewhere / "precious"}}));
  CHECK_THAT(shown.out, contains_text("timer=none"));
}

// ---- a program of one's own -------------------------------------------------------------------

/// Workers of a program that starts them with a launcher, and what they report.
struct own_workers {
  explicit own_workers(asio::any_io_executor executor)
      : launcher(executor), trains(executor), channels(std::move(executor), options()) {}

  elastic::worker_channels::options options() {
    elastic::worker_channels::options settings;
    settings.message = [this](int local_rank, const auto& message) {
      const auto* const report = std::get_if<elastic::worker_messages::progress>(&message);
      if (report == nullptr) return;
      progress[local_rank] = *report;
      trains.set();
    };
    settings.hung = [this](const elastic::worker_channels::hung_worker& found) {
      hung = found;
      running.at(found.local_rank)->signal(found.signal);
    };
    return settings;
  }

  elastic::task<void> start(int local_rank, std::string scenario) {
    elastic::environment_map environment = elastic::environment_from(environ);
    for (const auto& [name, value] : channels.environment()) environment[name] = value;
    environment["LOCAL_RANK"] = environment["RANK"] = std::to_string(local_rank);
    environment["TORCHELASTIC_RESTART_COUNT"] = "0";
    elastic::process_spec worker;
    worker.program = "python3";
    worker.arguments = {ELASTIC_SOURCE_DIR "/tests/integration/python/channel_worker.py", scenario};
    worker.environment = elastic::environment_entries(environment);
    running[local_rank] = co_await launcher.launch(worker);
    channels.started(local_rank);
  }

  elastic::task<elastic::exit_status> end_of(int local_rank) {
    const elastic::exit_status status = co_await running.at(local_rank)->wait();
    channels.ended(local_rank);
    co_await running.at(local_rank)->end_tree();
    co_return status;
  }

  elastic::pidfd_launcher launcher;
  std::map<int, std::unique_ptr<elastic::child>> running;
  std::map<int, elastic::worker_messages::progress> progress;
  std::optional<elastic::worker_channels::hung_worker> hung;
  elastic::event_flag trains;
  elastic::worker_channels channels;
};

CO_TEST("worker channels: workers of a launcher report, save, and are found to be hung",
        "[integration][channel]") {
  own_workers workers(co_await asio::this_coro::executor);
  workers.channels.open(2);
  co_await workers.start(0, "preempted");
  co_await workers.start(1, "stuck_section");
  co_await workers.trains.wait();
  const elastic::worker_messages::progress& made = workers.progress.at(0);
  CHECK(made.step == 1);
  CHECK(made.total == 10);
  CHECK(made.text == "training");
  CHECK(made.metrics.at("loss") == 0.5);
  const elastic::worker_channels::checkpoint_outcome outcome =
      co_await workers.channels.checkpoint(std::chrono::seconds(25));
  CHECK(outcome.asked == 1);
  CHECK(outcome.saved == 1);
  const elastic::exit_status killed = co_await workers.end_of(1);
  CHECK(killed.signal() == SIGKILL);
  REQUIRE(workers.hung);
  CHECK(workers.hung->local_rank == 1);
  CHECK_THAT(workers.hung->reason, contains_text("section 'save' took "));
  workers.running.at(0)->signal(SIGTERM);
  const elastic::exit_status ended = co_await workers.end_of(0);
  CHECK(ended.is_success());
  co_await workers.channels.close();
  CHECK_FALSE(workers.channels.is_open());
}

}  // namespace channel_test
}  // namespace
