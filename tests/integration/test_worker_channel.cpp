// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Real workers that speak with elasticrun over the control channel, in Python.

#include <elastic/net/free_port.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
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

  static words command(const words& options, const std::string& what) {
    const std::string worker = "/tests/integration/python/channel_worker.py";
    return elasticrun({{"--nproc-per-node", "2", "--log-dir", "/dev/null"},
                       options,
                       {ELASTIC_SOURCE_DIR + worker, what}});
  }

  /// Runs a job to its end and checks that nothing of it is left.
  program_result run(const words& options, const std::string& what, variables more = {}) const {
    const auto result = run_command(command(options, what), environment(std::move(more)));
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

}  // namespace channel_test

using namespace channel_test;

// ---- hung workers ------------------------------------------------------------------------------

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
    std::string what;
    words says;
  };
  const std::vector<row> rows{
      {"hang", {"traceback : hung: no heartbeat for ", "(allowed 0.5 s) in section 'all_reduce'"}},
      {"stuck_timer", {"traceback : hung: timer 'short #2' expired after 0.2 s"}},
      {"stuck_section", {"traceback : hung: section 'save' took ", " s (allowed 0.2 s)"}}};
  for (const auto& [what, says] : rows) {
    const auto result = stage.run({"--heartbeat-timeout", "0.5"}, what);
    INFO(result.err);
    CHECK(result.code == 1);
    CHECK(in_order(result.err, {"(SIGKILL)", "traceback : hung: "}));
    CHECK(in_order(result.err, says));
  }
}

TEST_CASE("worker channel: a worker that never beats is hung where that was asked for",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--first-heartbeat-timeout", "0.3"}, "mute");
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("hung: no heartbeat since its start "));
  CHECK_THAT(result.err, contains_text(" s ago (allowed 0.3 s)"));
}

TEST_CASE("worker channel: a worker that has become another user is let in",
          "[integration][channel]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty() || ::geteuid() != 0) return;
  const stage stage;
  words command{ELASTIC_ELASTICRUN, "--log-dir", "/dev/null", "--no-python", "setpriv",
                "--reuid=65534", "--regid=65534", "--clear-groups", python, "-B",
                std::string(ELASTIC_SOURCE_DIR) + "/tests/integration/python/channel_worker.py",
                "stuck_section"};
  const auto result = elastic::test::run_program(command, stage.environment());
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("is hung: section 'save' took "));
  CHECK(stage.left.processes().empty());
}

// ---- preemption --------------------------------------------------------------------------------

TEST_CASE("worker channel: on SIGTERM workers have saved a checkpoint before they hear of the end",
          "[integration][channel]") {
  const stage stage;
  running_program job(stage.command({"--preempt-grace", "60"}, "preempted"), stage.environment());
  job.await_out("ready", 2);
  job.signal(SIGTERM);
  const auto result = job.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 128 + SIGTERM);
  for (const std::string rank : {"[0] ", "[1] "}) {
    CHECK(in_order(result.out, {rank + "asked for a checkpoint", rank + "saved it",
                                rank + "told to end"}));
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
  job.await_out("ready", 2);
  job.signal(SIGTERM);
  const auto result = job.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 128 + SIGTERM);
  CHECK(in_order(result.out, {"asked for a checkpoint", "told to end"}));
  CHECK_THAT(result.err, contains_text("checkpoint: local rank 0 did not answer within 0.3 s"));
  CHECK_THAT(result.err, contains_text("checkpoint: local rank 1 did not answer within 0.3 s"));
  CHECK(stage.left.processes().empty());
}

TEST_CASE("worker channel: a SIGINT while workers save kills them", "[integration][channel]") {
  const stage stage;
  running_program job(stage.command({"--preempt-grace", "600"}, "silent"), stage.environment());
  job.await_out("ready", 2);
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
  job.await_out("ready", 2);
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
  CHECK_THAT(result.err, contains_text("is closed: a control message is no JSON object"));
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
  CHECK_THAT(result.err, contains_text("is hung: no heartbeat for 1"));
  CHECK_THAT(result.out, contains_text("[0] done"));
}

// ---- last words --------------------------------------------------------------------------------

TEST_CASE("worker channel: where a worker asked for it, the job is not started again",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({"--max-restarts", "5"}, "no_restart");
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("asked not to be started again: the options are wrong"));
  CHECK(result.err.find("restarting the workers") == std::string::npos);
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
  return {"--nnodes", sizes, "--rdzv-backend", "c10d", "--rdzv-id", "job", "--rdzv-endpoint",
          fmt::format("localhost:{}", port), "--rdzv-conf", "last_call_timeout=0.5",
          "--max-restarts", "5"};
}

TEST_CASE("worker channel: the other nodes go on without one that is bad",
          "[integration][channel][nodes]") {
  const stage stage;
  const words options = meeting_at(elastic::free_port("127.0.0.1"), "1:2");
  const words command = stage.command(options, "one_of_nodes");
  running_program good(command, stage.environment());
  good.await_out("world 1 attempt 0", 2);
  running_program bad(command, stage.environment({{"BEHAVIOUR", "bad"}}));
  const auto result = bad.wait();
  INFO(result.err << good.err());
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("FAILED on this node, which has left the job: rank 2 says "
                                       "that this node is bad: GPU 3 fell off the bus"));
  good.await_out("world 1 attempt 0", 4);
  good.await_err("the membership changed; this uses up no restart", 2);
  good.signal(SIGTERM);
  CHECK(good.wait().code == 128 + SIGTERM);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("worker channel: a worker that must not be started again ends the job on all nodes",
          "[integration][channel][nodes]") {
  const stage stage;
  const words options = meeting_at(elastic::free_port("127.0.0.1"), "2");
  const words command = stage.command(options, "one_of_nodes");
  running_program first(command, stage.environment());
  running_program second(command, stage.environment({{"BEHAVIOUR", "final"}}));
  const auto failed = second.wait();
  const auto other = first.wait();
  INFO(failed.err << other.err);
  CHECK(failed.code == 1);
  CHECK(other.code == 1);
  CHECK_THAT(failed.err, contains_text("asked not to be started again: the options are wrong"));
  CHECK_THAT(other.err, contains_text("asked not to be started again: the options are wrong"));
  CHECK(other.out.find("attempt 1") == std::string::npos);
  CHECK(failed.out.find("attempt 1") == std::string::npos);
  CHECK(stage.left.processes().empty());
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

TEST_CASE("worker channel: what is no timer request is named, and harms nobody",
          "[integration][channel]") {
  const stage stage;
  const auto result = stage.run({}, "timer_garbage",
                                {{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"},
                                 {"TORCHELASTIC_TIMER_FILE", stage.folder / "timers"}});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const std::string file = "timer file '" + (stage.folder / "timers") + "'";
  CHECK_THAT(result.err, contains_text(file + ": a control message is no JSON object"));
  CHECK_THAT(result.err, contains_text(file + ": a line is longer than 4096 bytes"));
  CHECK_THAT(result.err, contains_text(file + ": pid 1 is of no worker of this node"));
}

TEST_CASE("worker channel: a timer file that is no FIFO is named and left alone",
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
}

}  // namespace
