// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Stalled jobs with the real PyTorch: which rank the diagnosis names, and the consequences.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/raw_client.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace diagnosis_test {

using test::has_text;
using test::running_program;
using words = std::vector<std::string>;

const std::string script = ELASTIC_SOURCE_DIR "/tests/integration/python/stalled_job.py";

const std::string survivor = ELASTIC_SOURCE_DIR "/tests/integration/python/survive_worker.py";

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
  running_program program(job.command("sleep", {"--node-name", "node3"}), job.with_python(python));
  program.await_err("the job has stalled: ");
  program.await_err("rank 1 (node3, local rank 1)");
  program.await_err("has not entered all_reduce");
  program.await_err("read_shard");
  // A rank has two seconds to answer, which a busy machine may not give it.
  test::program_result whole;
  test::comes_true([&] {
    whole = job.stacks({job.socket()});
    return has_text(whole.out, "all_reduce") && has_text(whole.out, "read_shard");
  });
  INFO(whole.out << whole.err);
  CHECK(whole.code == 0);
  CHECK(has_text(whole.out, "all_reduce"));
  CHECK(has_text(whole.out, "read_shard"));
  test::program_result one;
  test::comes_true([&] {
    one = job.stacks({"--rank", "1", job.socket()});
    return has_text(one.out, "read_shard");
  });
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
  // Each rank's recorder lies beside the logs, for PyTorch's analyser.
  const std::string recorders = job.log_root() / "attempt_0" / "flight_recorder";
  for (const std::string rank : {"0", "1", "2"}) {
    CHECK(test::comes_true([&] { return std::filesystem::exists(recorders + "/rank_" + rank); }));
  }
  const auto analysis = test::run_program(
      {python, "-m", "torch.distributed.flight_recorder.fr_trace", recorders}, job.environment());
  INFO(analysis.out << analysis.err);
  CHECK(analysis.code == 0);
  CHECK(has_text(analysis.out + analysis.err, "missing ranks: {1}"));
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
                        job.with_python(python), std::chrono::seconds(180));
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "the job has stalled: rank 1 ("));
  CHECK(has_text(result.err, "is hung: "));
  CHECK(job.left.processes().empty());
}

TEST_CASE("diagnosis: --on-stall replace has the others go on", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  // A stopped worker, and one that has not said that it can survive: then all start again.
  const bool survives = GENERATE(true, false);
  CAPTURE(survives);
  stalled_job job;
  const std::string marks = job.folder / "marks";
  std::filesystem::create_directory(marks);
  words command = job.elasticrun(
      {{"--standalone", "--nproc-per-node", "3", "--max-restarts", "1", "--log-dir", job.logs(),
        "--on-failure", "replace", "--rejoin-timeout", "60", "--diagnose", "--stall-after", "2",
        "--on-stall", "replace", survivor, "--folder", marks, "--do", "stop@4:1"}});
  if (!survives) command.insert(command.end(), {"--plain", "2"});
  const auto result =
      test::run_program(command, job.with_python(python), std::chrono::seconds(120));
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "the job has stalled: rank 1 ("));
  CHECK(has_text(result.err, "is hung: "));
  // A process that has come from the first epoch says so in the second.
  CHECK(has_text(result.out, "new False") == survives);
  CHECK(has_text(result.err, "all workers of the job restart: ") == !survives);
}

TEST_CASE("diagnosis: each fault is found out, and no other rank is blamed", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  const std::string fault = GENERATE("loop", "exception", "mismatch");
  CAPTURE(fault);
  stalled_job job;
  running_program program(job.command(fault), job.with_python(python));
  program.await_err("the job has stalled: rank 1 (");
  program.signal(SIGINT);
  program.wait();
}

/// Two agents of two workers each.
class stalled_nodes : public stalled_job {
 public:
  words node(int number, const words& more) const {
    const std::string name = fmt::format("node{}", number);
    return elasticrun({{"--nnodes", "2", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
                        "--rdzv-endpoint", fmt::format("127.0.0.1:{}", port_), "--rdzv-id",
                        "stalled", "--log-dir", folder / name, "--diagnose", "--stall-after", "2",
                        "--status", socket_of(number)},
                       more,
                       {script, "sleep", "3"}});
  }
  std::string socket_of(int number) const {
    return fmt::format("unix:{}", folder / fmt::format("s{}", number));
  }
  variables with_gloo(const std::string& python) const {
    return environment(
        {{"PYTHON_EXEC", python}, {"OMP_NUM_THREADS", "1"}, {"GLOO_SOCKET_IFNAME", "lo"}});
  }

 private:
  std::uint16_t port_ = test::reserved_port();
};

TEST_CASE("diagnosis: each node shows where the ranks of all nodes are", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  stalled_nodes job;
  running_program first(job.node(0, {}), job.with_gloo(python));
  running_program second(job.node(1, {}), job.with_gloo(python));
  std::vector<std::string> shown(2);
  const auto shows_all = [&](int number) {
    std::string& text = shown.at(static_cast<std::size_t>(number));
    const auto result = job.stacks({job.socket_of(number)});
    text = result.out + result.err;
    return has_text(text, "rank 3 (") && has_text(text, "read_shard") &&
           has_text(text, "ranks 0-2: ") && has_text(text, "all_reduce");
  };
  // The ranks may still import PyTorch.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(150);
  bool are_shown = false;
  while (!are_shown && std::chrono::steady_clock::now() < limit) {
    are_shown = shows_all(0) && shows_all(1);
  }
  first.signal(SIGINT);
  second.signal(SIGINT);
  const auto one = first.wait();
  const auto other = second.wait();
  INFO(shown[0] << shown[1] << one.err << other.err);
  CHECK(are_shown);
}

TEST_CASE("diagnosis: --on-stall restart ends a rank of another node", "[integration]") {
  const std::string python = test::torch_213_python();
  if (python.empty()) return;
  stalled_nodes job;
  const words policy{"--on-stall", "restart", "--max-restarts", "1"};
  running_program first(job.node(0, policy), job.with_gloo(python));
  running_program second(job.node(1, policy), job.with_gloo(python));
  const auto one = first.wait();
  const auto other = second.wait();
  const std::string said = one.err + other.err;
  INFO(said);
  CHECK(one.code == 0);
  CHECK(other.code == 0);
  CHECK(has_text(said, "the job has stalled: rank 3 ("));
  CHECK(has_text(said, "local rank 1) has not entered all_reduce"));
  CHECK(has_text(said, "is hung: it has not entered "));
}

TEST_CASE("diagnosis: a job that ends leaves nothing", "[integration]") {
  const std::string python = test::torch_python();
  if (python.empty()) return;
  stalled_job job;
  const auto result = job.run_command(job.command("none"), {{"PYTHON_EXEC", python}});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_FALSE(has_text(result.err, "has stalled"));
  CHECK(std::filesystem::is_empty(job.temporary()));
}

}  // namespace diagnosis_test

}  // namespace
}  // namespace elastic
