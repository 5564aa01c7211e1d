// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Workers that have failed, or are done, and do not end.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace notices_test {

using test::has_text;
using words = std::vector<std::string>;

const std::string folder_of_scripts = ELASTIC_SOURCE_DIR "/tests/integration/python/";

class failing_job : public test::elasticrun_stage {
 public:
  words command(const std::string& how, const words& more = {}) const {
    return elasticrun({{"--standalone", "--nproc-per-node", "2", "--log-dir", logs()},
                       more,
                       {folder_of_scripts + "failing_worker.py", how}});
  }
};

TEST_CASE("notices: a worker that reported its failure and does not end is a failed one",
          "[integration]") {
  const std::string how = GENERATE("record", "print");
  CAPTURE(how);
  failing_job job;
  const auto result = job.run_command(
      job.command(how, {"--end-after-error", "0.7", "--max-restarts", "1"}));
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "is hung: it reported 'ValueError: no such shard'"));
  CHECK(has_text(result.err, "has not ended, and has done nothing for"));
  CHECK(has_text(test::file_text(job.log_root() / "journal.jsonl"), "worker_hung"));
}

TEST_CASE("notices: the report of such a worker has its exception", "[integration]") {
  failing_job job;
  const auto result = job.run_command(job.command("record", {"--end-after-error", "0.5"}));
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  CHECK(has_text(result.err, "rank      : 1 (local_rank: 1)"));
  CHECK(has_text(result.err, "ValueError: no such shard"));
}

TEST_CASE("notices: a worker that goes on after its report lives", "[integration]") {
  failing_job job;
  const auto result = job.run_command(job.command("catch", {"--end-after-error", "6"}));
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK_FALSE(has_text(result.err, "reported"));
}

TEST_CASE("notices: a worker that shows an exception that it has caught lives", "[integration]") {
  failing_job job;
  const auto result = job.run_command(job.command("show", {"--end-after-error", "0.5"}));
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "LookupError"));
  CHECK_FALSE(has_text(result.err, "is hung"));
}

TEST_CASE("notices: a rank that hangs in atexit is named, and where it is", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  failing_job job;
  words command = job.elasticrun({{"--standalone", "--nproc-per-node", "2", "--diagnose",
                                   "--node-name", "node3", "--log-dir", job.logs(),
                                   folder_of_scripts + "hang_at_exit.py"}});
  const auto environment = job.environment({{"PYTHON_EXEC", python}, {"OMP_NUM_THREADS", "1"}});
  test::running_program program(command, environment);
  program.await_err("rank 1 (node3, local rank 1, pid ");
  // After 5 s, or later on a busy machine.
  program.await_err("reported ValueError ");
  program.await_err(" s ago and has not ended");
  program.await_err("its interpreter does not end, since hang_at_exit.py holds it, in "
                    "hang_at_exit.py:");
  program.signal(SIGINT);
  program.wait();
  CHECK(has_text(test::file_text(job.log_root() / "journal.jsonl"),
                 "\"kind\": \"notice_given\", \"rank\": 1"));
}

/// Nothing but the end of rank 0 leads to a look at the others.
const words ended_rank{"--diagnose", "--stall-after", "600", "--on-stall", "restart",
                       "--max-restarts", "1"};

void check_ended_rank(const std::string& said, const std::string& others) {
  CHECK(has_text(said, "the job has stalled: rank 0 ("));
  CHECK(has_text(said, "has ended (exit code 0); " + others + " waited in all_reduce #2"));
  CHECK(has_text(said, "is hung: it waits for a rank that has ended: rank 0 ("));
}

TEST_CASE("notices: --diagnose finds that ranks wait for one that has ended", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  failing_job job;
  const auto result = job.run_command(
      job.elasticrun({{"--standalone", "--nproc-per-node", "3"},
                      ended_rank,
                      {folder_of_scripts + "ended_rank.py"}}),
      {{"PYTHON_EXEC", python}, {"OMP_NUM_THREADS", "1"}});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  check_ended_rank(result.err, "2 others have");
}

TEST_CASE("notices: --diagnose finds that ranks wait for one of another node", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  failing_job job;
  const std::string endpoint = fmt::format("127.0.0.1:{}", test::reserved_port());
  const words command = job.elasticrun(
      {{"--nnodes", "2", "--nproc-per-node", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint",
        endpoint, "--rdzv-id", job.left.value},
       ended_rank,
       {folder_of_scripts + "ended_rank.py"}});
  const auto environment = job.environment(
      {{"PYTHON_EXEC", python}, {"OMP_NUM_THREADS", "1"}, {"GLOO_SOCKET_IFNAME", "lo"}});
  // The workers of the node of rank 0 have all ended: it answers at its exit barrier.
  test::running_program first(command, environment);
  test::running_program second(command, environment);
  const auto one = first.wait();
  const auto other = second.wait();
  const std::string said = one.err + other.err;
  INFO(said);
  CHECK(one.code == 0);
  CHECK(other.code == 0);
  check_ended_rank(said, "1 other has");
}

}  // namespace notices_test

}  // namespace
}  // namespace elastic
