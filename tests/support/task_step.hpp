// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// The number of a job of Slurm whose first step meets at a port that no other test has, and that
/// no other test gives to a job.
inline std::string number_of_slurm_job() {
  // The ports that elasticrun gives to steps.
  constexpr int first = 15'000;
  constexpr int count = 15'000;
  int port = reserved_port();
  while (port >= first + count) port = reserved_port();
  return std::to_string(port - first);
}

/// A step of Slurm whose nodes are all this host. Each task is an elasticrun with the same
/// arguments, as `srun` starts them.
class task_step {
 public:
  using variables = std::map<std::string, std::string>;

  /// @param counts  the number of tasks on each node
  explicit task_step(std::vector<int> counts)
      : counts_(std::move(counts)), number_(number_of_slurm_job()) {}

  int size() const {
    int all = 0;
    for (const int count : counts_) all += count;
    return all;
  }

  /// What Slurm gives a task.
  variables of_task(int task) const {
    int node = 0;
    int first = 0;
    while (task >= first + counts_[static_cast<std::size_t>(node)]) {
      first += counts_[static_cast<std::size_t>(node++)];
    }
    std::string per_node;
    std::string numbers;
    for (const int count : counts_) {
      per_node += fmt::format("{}{}", per_node.empty() ? "" : ",", count);
    }
    for (int local = 0; local < counts_[static_cast<std::size_t>(node)]; ++local) {
      numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", first + local);
    }
    variables given = {{"SLURM_JOB_ID", number_},
                       {"SLURM_STEP_ID", "0"},
                       {"SLURM_STEP_NUM_NODES", std::to_string(counts_.size())},
                       {"SLURM_STEP_NUM_TASKS", std::to_string(size())},
                       {"SLURM_STEP_TASKS_PER_NODE", per_node},
                       {"SLURM_STEP_NODELIST", fmt::format("127.0.0.[1-{}]", counts_.size())},
                       {"SLURM_NODEID", std::to_string(node)},
                       {"SLURM_LOCALID", std::to_string(task - first)},
                       {"SLURM_PROCID", std::to_string(task)},
                       {"SLURM_GTIDS", numbers},
                       {"PET_NODE_NAME", fmt::format("node{}", node)},
                       {"TMPDIR", folder.path()},
                       {remains.name, remains.value}};
    for (const auto& [name, value] : environment) given[name] = value;
    return given;
  }

  void start(int task, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ELASTIC_ELASTICRUN);
    tasks.resize(static_cast<std::size_t>(size()));
    tasks[static_cast<std::size_t>(task)] =
        std::make_unique<running_program>(std::move(arguments), of_task(task));
  }

  /// Starts all tasks, the agent of a node last.
  void start(const std::vector<std::string>& arguments) {
    for (int task = size() - 1; task >= 0; --task) start(task, arguments);
  }

  std::vector<program_result> wait() const {
    std::vector<program_result> results;
    for (const auto& task : tasks) results.push_back(task->wait());
    return results;
  }

  running_program& task(int number) const { return *tasks[static_cast<std::size_t>(number)]; }

  leftovers remains;
  temporary_directory folder;
  /// More variables for every task.
  variables environment;
  std::vector<std::unique_ptr<running_program>> tasks;

 private:
  std::vector<int> counts_;
  std::string number_;
};

}  // namespace elastic::test
