// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What those who run a cluster do to a job: its scheduler's variables, signals and files.

#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace operators_test {

using elastic::test::has_text;
using elastic::test::program_result;
using elastic::test::running_program;
using variables = std::map<std::string, std::string>;
using words = std::vector<std::string>;

/// What Slurm gives a task of a step with two nodes, both of which are this host.
variables task_of_step(int node) {
  return {{"SLURM_JOB_ID", std::to_string(::getpid())},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_NUM_TASKS", "2"},
          {"SLURM_STEP_NODELIST", "127.0.0.[1-2]"},
          {"SLURM_NODEID", std::to_string(node)},
          {"SLURM_PROCID", std::to_string(node)},
          {"LOGLEVEL", "INFO"}};
}

TEST_CASE("operators: in a step of Slurm the nodes meet without an option", "[integration]") {
  const elastic::test::leftovers left;
  const std::string backend = GENERATE("c10d", "static");
  CAPTURE(backend);
  const words command = {ELASTIC_ELASTICRUN, "--no-python", "sh", "-c",
                         "echo \"$GROUP_RANK of $GROUP_WORLD_SIZE in $TORCHELASTIC_RUN_ID\""};
  std::vector<std::unique_ptr<running_program>> nodes;
  for (int node = 0; node < 2; ++node) {
    variables environment = task_of_step(node);
    environment.emplace(left.name, left.value);
    if (backend == "static") environment.emplace("PET_RDZV_BACKEND", backend);
    nodes.push_back(std::make_unique<running_program>(command, environment));
  }
  std::string all;
  for (const auto& node : nodes) {
    const program_result result = node->wait();
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(has_text(result.err, "from Slurm's variables: --nnodes 2 "));
    all += result.out;
  }
  for (int node = 0; node < 2; ++node) {
    CHECK(has_text(all, fmt::format("{} of 2 in {}.0\n", node, ::getpid())));
  }
  CHECK(left.processes().empty());
}

}  // namespace operators_test
