// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// `--debug-rank`: a worker that waits for a debugger. The debugger is a stub of debugpy's.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/silent_listener.hpp>
#include <support/text.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace debugger_test {

using elastic::test::elasticrun_stage;
using elastic::test::has_text;
using elastic::test::program_result;
using elastic::test::run_program;
using elastic::test::running_program;
using words = elasticrun_stage::words;
using variables = elasticrun_stage::variables;

constexpr const char* sources = ELASTIC_SOURCE_DIR "/tests/integration/python/";

variables with_stub() {
  return {{"PYTHONPATH", fmt::format("{}debugpy_stub:{}/python", sources, ELASTIC_SOURCE_DIR)},
          {"OMP_NUM_THREADS", "1"}};
}

std::unique_ptr<running_program> start(const elasticrun_stage& stage, const words& options,
                                       const words& arguments = {}) {
  return std::make_unique<running_program>(
      elasticrun_stage::elasticrun(
          {options, {fmt::format("{}debugged_worker.py", sources)}, arguments}),
      stage.environment(with_stub()));
}

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The port in the last line that says where the debugger of a rank listens.
std::string port_of_debugger(const std::string& text, int rank) {
  const std::string begin = fmt::format("rank {} waits for a debugger at 127.0.0.1:", rank);
  const std::size_t at = text.rfind(begin);
  REQUIRE(at != text.npos);
  return text.substr(at + begin.size(), text.find(':', at + begin.size()) - at - begin.size());
}

/// Attaches to the debugger of a rank, which has told its port `count` times.
void attach(running_program& job, int rank, int count = 1) {
  job.await_out(fmt::format("rank {} listens", rank), count);
  job.await_err(fmt::format("rank {} waits for a debugger at ", rank), count);
  const std::string port = port_of_debugger(job.err(), rank);
  const program_result debugger =
      run_program({"bash", "-c", "echo go >/dev/tcp/127.0.0.1/" + port});
  CHECK(debugger.code == 0);
}

TEST_CASE("debugger: a rank runs its script when a debugger has attached, the others at once",
          "[integration]") {
  const elasticrun_stage stage;
  const auto job = start(stage, {"--nproc-per-node", "2", "--debug-rank", "1"}, {"--lr", "0.1"});
  job->await_out("rank 0 runs in attempt 0 with --lr 0.1");
  job->await_out("rank 1 listens");
  CHECK_FALSE(has_text(job->out(), "rank 1 runs"));
  attach(*job, 1);
  const program_result result = job->wait();
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "rank 1 runs in attempt 0 with --lr 0.1"));
  const std::string port = port_of_debugger(result.err, 1);
  CHECK(has_text(result.err,
                 fmt::format(": in VS Code, start \"Python Debugger: Remote Attach\" with host "
                             "127.0.0.1 and port {0}; from another host, run first: ssh -L "
                             "{0}:localhost:{0} ",
                             port)));
  CHECK(has_text(result.err, "--debug-rank 1: no worker of this job counts as hung"));
  CHECK(stage.left.processes().empty());
}

TEST_CASE("debugger: a module runs under it, too", "[integration]") {
  const elasticrun_stage stage;
  const auto job = std::make_unique<running_program>(
      elasticrun_stage::elasticrun({{"--debug-rank", "0", "-m", "platform", "terse"}}),
      stage.environment(with_stub()));
  attach(*job, 0);
  const program_result result = job->wait();
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "Linux-"));
}

TEST_CASE("debugger: no rank counts as hung, whatever time-outs it has", "[integration]") {
  const elasticrun_stage stage;
  const auto job = start(stage,
                         {"--nproc-per-node", "2", "--debug-rank", "1", "--heartbeat-timeout",
                          "0.05", "--first-heartbeat-timeout", "0.05", "--learn-timeouts", "2"},
                         {"silent"});
  job->await_out("rank 0 was silent");
  attach(*job, 1);
  const program_result result = job->wait();
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "rank 1 was silent"));
}

TEST_CASE("debugger: a worker that starts again waits for another debugger, and the report says "
          "what was off",
          "[integration]") {
  const elasticrun_stage stage;
  const int restarts = GENERATE(0, 1);
  CAPTURE(restarts);
  const auto job = start(stage,
                         {"--nproc-per-node", "2", "--debug-rank", "1", "--max-restarts",
                          std::to_string(restarts)},
                         {"dies"});
  attach(*job, 1);
  if (restarts == 1) attach(*job, 1, 2);
  const program_result result = job->wait();
  CAPTURE(result.err);
  CHECK(result.code == 1 - restarts);
  CHECK(has_text(result.out, "rank 1 runs in attempt 1 with dies") == (restarts == 1));
  // In the log, and in the report of a failure.
  CHECK(occurrences(result.err, "--debug-rank 1: no worker of this job counts as hung") ==
        2 - restarts);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("debugger: the node that has the rank says where it waits", "[integration]") {
  const elasticrun_stage stage;
  const words options = {"--nnodes",
                         "2",
                         "--nproc-per-node",
                         "2",
                         "--rdzv-backend",
                         "c10d",
                         "--rdzv-endpoint",
                         fmt::format("localhost:{}", elastic::test::reserved_port()),
                         "--rdzv-id",
                         "debugged",
                         "--debug-rank",
                         "3"};
  std::vector<std::unique_ptr<running_program>> nodes;
  for (int node = 0; node < 2; ++node) nodes.push_back(start(stage, options));
  // The one that hosts the store has rank 0 and the first workers; which that is, the nodes decide.
  for (const auto& node : nodes) node->await_out(" runs in attempt 0", 1);
  const std::string line = "rank 3 waits for a debugger at ";
  const bool is_first = has_text(nodes[0]->out(), "rank 2 runs");
  running_program& last = *nodes[is_first ? 0 : 1];
  attach(last, 3);
  for (const auto& node : nodes) {
    const program_result result = node->wait();
    CAPTURE(result.err);
    CHECK(result.code == 0);
    CHECK(has_text(result.err, line) == (node.get() == &last));
  }
  CHECK(stage.left.processes().empty());
}

TEST_CASE("debugger: what cannot be debugged is refused in one line, and nothing runs",
          "[integration]") {
  const elasticrun_stage stage;
  const std::uint16_t taken = elastic::test::reserved_port();
  const elastic::test::silent_listener listener(taken);
  struct row {
    words options;
    std::string message;
  };
  const row rows[] = {
      {{"--nproc-per-node", "2", "--debug-rank", "1", "--debug-address",
        fmt::format("127.0.0.1:{}", taken)},
       fmt::format("--debug-address: port {} of ", taken)},
      {{"--debug-rank", "0", "--debug-address", "203.0.113.0/24"},
       "--debug-address: this host has no address in "},
      {{"--debug-rank", "0", "--debug-address", "203.0.113.7"},
       "--debug-address: this host does not have the address '203.0.113.7'; it has 127.0.0.1"},
      {{"--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-endpoint",
        fmt::format("localhost:{}", elastic::test::reserved_port()), "--rdzv-id", "debugged",
        "--rdzv-conf", "last_call_timeout=0.1", "--debug-rank", "5"},
       "--debug-rank 5: there is no such rank: the last one of the job is 0"},
  };
  for (const row& each : rows) {
    const program_result result = run_program(
        elasticrun_stage::elasticrun(
            {each.options, {fmt::format("{}debugged_worker.py", sources)}}),
        stage.environment(with_stub()));
    CAPTURE(result.err);
    CHECK(result.code == 2);
    CHECK(occurrences(result.err, "elasticrun: error: " + each.message) == 1);
    CHECK_FALSE(has_text(result.out, "runs in attempt"));
    CHECK(stage.left.processes().empty());
  }
}

TEST_CASE("debugger: a Python without debugpy is named before anything starts", "[integration]") {
  const elasticrun_stage stage;
  const std::string python = stage.folder / "python";
  std::ofstream(python) << "#!/bin/sh\nexec python3 -I -S \"$@\"\n";
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const program_result result = run_program(
      elasticrun_stage::elasticrun({{"--debug-rank", "0", "--log-dir", stage.logs()},
                                    {fmt::format("{}debugged_worker.py", sources)}}),
      stage.environment({{"PYTHON_EXEC", python}}));
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(result.err == fmt::format("elasticrun: error: --debug-rank 0: {0} has no debugpy; install "
                                  "it with {0} -m pip install debugpy\n",
                                  python));
  CHECK_FALSE(std::filesystem::exists(stage.logs()));
}

}  // namespace debugger_test

}  // namespace
