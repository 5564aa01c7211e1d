// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs with the real PyTorch that stand still: which rank is named, and what follows.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace elastic {
namespace {

namespace diagnosis_test {

using test::has_text;
using test::running_program;
using words = std::vector<std::string>;

const std::string script = ELASTIC_SOURCE_DIR "/tests/integration/python/stalled_job.py";

class stalled_job : public test::elasticrun_stage {
 public:
  std::string socket() const { return "unix:" + (folder / "s"); }

  words command(const std::string& fault, const words& more = {}) const {
    return elasticrun({{"--standalone", "--nproc-per-node", "3", "--log-dir", logs(), "--diagnose",
                        "--stall-after", "2", "--status", socket()},
                       more,
                       {script, fault}});
  }

  variables with_python(const std::string& python) const {
    return environment({{"PYTHON_EXEC", python}, {"OMP_NUM_THREADS", "1"}});
  }

  /// What `elasticrun stacks` prints.
  test::program_result stacks(const words& arguments) const {
    words all{ELASTIC_ELASTICRUN, "stacks"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return test::run_program(all, environment());
  }
};

TEST_CASE("diagnosis: the rank that sleeps in its loader is named, and where", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  stalled_job job;
  running_program program(job.command("sleep"), job.with_python(python));
  program.await_err("the job stands still: ");
  program.await_err("rank 1 (");
  program.await_err("has not entered all_reduce");
  program.await_err("read_shard");
  const auto whole = job.stacks({job.socket()});
  INFO(whole.out << whole.err);
  CHECK(whole.code == 0);
  CHECK(has_text(whole.out, "all_reduce"));
  CHECK(has_text(whole.out, "read_shard"));
  const auto one = job.stacks({"--rank", "1", job.socket()});
  CHECK(has_text(one.out, "read_shard"));
  CHECK_FALSE(has_text(one.out, "all_reduce"));
  // What the kernel knows needs no agent.
  const auto native = job.stacks({job.logs()});
  INFO(native.out << native.err);
  CHECK(native.code == 0);
  CHECK(has_text(native.out, "no Python stacks"));
  const auto status = test::run_program({ELASTIC_ELASTICRUN, "status", "--json", job.socket()},
                                        job.environment());
  CHECK(has_text(status.out, "\"cause\": \"behind\""));
  program.signal(SIGINT);
  program.wait();
  const auto ended = job.stacks({job.logs()});
  CHECK(ended.code != 0);
  CHECK(has_text(ended.err, "has ended"));
  CHECK(has_text(test::file_text(job.log_root() / "journal.jsonl"), "stall_found"));
}

TEST_CASE("diagnosis: --on-stall restart ends the rank that all wait for", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const std::string fault = GENERATE("sleep", "stop");
  CAPTURE(fault);
  stalled_job job;
  const auto result =
      test::run_program(job.command(fault, {"--on-stall", "restart", "--max-restarts", "1"}),
                        job.with_python(python), std::chrono::seconds(60));
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "the job stands still: rank 1 ("));
  CHECK(has_text(result.err, "is hung: "));
  CHECK(job.left.processes().empty());
}

TEST_CASE("diagnosis: each fault is found out, and no other rank is blamed", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const std::string fault = GENERATE("loop", "exception", "mismatch");
  CAPTURE(fault);
  stalled_job job;
  running_program program(job.command(fault), job.with_python(python));
  program.await_err("the job stands still: rank 1 (");
  program.signal(SIGINT);
  program.wait();
}

TEST_CASE("diagnosis: a job that ends leaves nothing", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  stalled_job job;
  const auto result = job.run_command(job.command("none"), {{"PYTHON_EXEC", python}});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_FALSE(has_text(result.err, "stands still"));
  CHECK(std::filesystem::is_empty(job.temporary()));
}

}  // namespace diagnosis_test

}  // namespace
}  // namespace elastic
