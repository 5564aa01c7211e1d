// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/node_tasks.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/cli/detail/option_types.hpp>
#include <elastic/process/guard_policy.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Reads what a scheduler says in variables.
class task_variables {
 public:
  explicit task_variables(const environment_map& environment) : environment_(environment) {}

  std::string text(std::string_view name) const {
    return find_variable(environment_, name).value_or("");
  }

  bool has(std::string_view name) const { return !text(name).empty(); }

  int number(std::string_view name, int most) const {
    const auto value = number_between(text(name), 0, most);
    if (value) return *value;
    refuse_value({text(name), std::string(name)},
                 fmt::format("a whole number from 0 to {} is needed", most));
  }

 private:
  const environment_map& environment_;
};

/// The most tasks of a step, and the most bytes of its name.
inline constexpr int most_tasks = limits::job_ranks;
inline constexpr std::size_t most_step_bytes = 64;

/// A name with what sockets' names have alone.
inline std::string as_step_name(std::string text) {
  for (char& letter : text) {
    const bool is_kept = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                         (letter >= 'A' && letter <= 'Z') || letter == '.' || letter == '-';
    if (!is_kept) letter = '-';
  }
  if (text.size() > most_step_bytes) text.erase(0, text.size() - most_step_bytes);
  return text;
}

/// The numbers of a list such as "0,2,4", if they are as many as wanted.
inline std::vector<int> numbers_in(std::string_view text, int count) {
  std::vector<int> numbers;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto number = number_between(text.substr(0, end), 0, most_tasks);
    if (!number) return {};
    numbers.push_back(*number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (numbers.size() != static_cast<std::size_t>(count)) numbers.clear();
  return numbers;
}

inline std::optional<node_tasks> tasks_of_slurm(const task_variables& variables) {
  if (!variables.has("SLURM_STEP_TASKS_PER_NODE") || !variables.has("SLURM_LOCALID")) return {};
  if (variables.has("SLURM_HET_SIZE")) return {};
  const std::string list = variables.text("SLURM_STEP_TASKS_PER_NODE");
  const std::vector<int> counts = parse_tasks_per_node(list);
  const auto node = static_cast<std::size_t>(variables.number("SLURM_NODEID", limits::nodes));
  if (node >= counts.size()) {
    refuse_value({list, "SLURM_STEP_TASKS_PER_NODE"},
                 fmt::format("numbers of tasks such as 8(x4) are needed, also for node {}", node));
  }
  node_tasks found;
  found.slots.count = counts[node];
  for (const int count : counts) found.all += count;
  --found.all;
  if (found.all == static_cast<int>(counts.size()) && found.slots.count == 1) return {};
  found.slots.place = variables.number("SLURM_LOCALID", found.slots.count - 1);
  found.slots.step = as_step_name(fmt::format("{}.{}-{}", variables.text("SLURM_JOB_ID"),
                                              variables.text("SLURM_STEP_ID"), node));
  found.is_first = variables.text("SLURM_PROCID") == "0";
  // The first node speaks for all: other distributions begin to differ there.
  if (node == 0) {
    found.slots.numbers = numbers_in(variables.text("SLURM_GTIDS"), found.slots.count);
  }
  found.starter = "this step of Slurm";
  found.is_one_node = counts.size() == 1;
  return found;
}

/// Open MPI's mpirun. Its variables name the launch, but no nodes.
inline std::optional<node_tasks> tasks_of_open_mpi(const task_variables& variables) {
  if (!variables.has("OMPI_COMM_WORLD_LOCAL_RANK")) return {};
  node_tasks found;
  found.all = variables.number("OMPI_COMM_WORLD_SIZE", most_tasks);
  found.slots.count = variables.number("OMPI_COMM_WORLD_LOCAL_SIZE", limits::local_world_size);
  if (found.slots.count <= 1) return {};
  found.slots.place = variables.number("OMPI_COMM_WORLD_LOCAL_RANK", found.slots.count - 1);
  found.slots.step = as_step_name(variables.text("PMIX_NAMESPACE"));
  found.is_first = variables.text("OMPI_COMM_WORLD_RANK") == "0";
  found.starter = "mpirun";
  found.is_one_node = found.all == found.slots.count;
  if (found.slots.step.empty()) found.obstacle = "no variable names this launch";
  return found;
}

/// That of MPICH, and others with its process manager.
inline std::optional<node_tasks> tasks_of_mpich(const task_variables& variables) {
  if (!variables.has("PMI_SIZE") || !variables.has("MPI_LOCALNRANKS")) return {};
  node_tasks found;
  found.all = variables.number("PMI_SIZE", most_tasks);
  found.slots.count = variables.number("MPI_LOCALNRANKS", limits::local_world_size);
  if (found.slots.count <= 1) return {};
  found.is_first = variables.text("PMI_RANK") == "0";
  found.starter = "mpiexec";
  found.obstacle = "no variable names this launch";
  return found;
}

ELASTIC_DECL std::optional<node_tasks> find_node_tasks(const environment_map& environment) {
  const task_variables variables(environment);
  if (variables.has("TORCHELASTIC_RUN_ID")) return {};
  if (variables.has("SLURM_STEP_ID") && variables.has("SLURM_STEP_NUM_NODES")) {
    return tasks_of_slurm(variables);
  }
  auto found = tasks_of_open_mpi(variables);
  return found ? found : tasks_of_mpich(variables);
}

ELASTIC_DECL std::vector<int> parse_tasks_per_node(std::string_view text) {
  std::vector<int> counts;
  if (text.ends_with(',')) return counts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    int nodes = 1;
    if (const std::size_t times = item.find("(x"); times != item.npos && item.back() == ')') {
      const std::string_view repeated = item.substr(times + 2, item.size() - times - 3);
      nodes = number_between(repeated, 1, limits::nodes).value_or(0);
      item = item.substr(0, times);
    }
    const auto count = number_between(item, 1, limits::local_world_size);
    if (!count || nodes == 0 || counts.size() + static_cast<std::size_t>(nodes) > limits::nodes) {
      return {};
    }
    counts.insert(counts.end(), static_cast<std::size_t>(nodes), *count);
  }
  return counts;
}

/// Makes the workers those tasks. Errors: see `adopt_node_tasks`.
inline void take_tasks(const node_tasks& tasks, const given_options& options,
                       option_target& target) {
  worker_spec& workers = target.config.job.workers;
  const int count = tasks.slots.count;
  const auto given = options.find("--nproc-per-node");
  if (given && workers.nproc_per_node != count) {
    refuse_value(*given, fmt::format("{} has {} tasks on this node, of which each is a worker: "
                                     "leave it out, or give --standalone for {} jobs",
                                     tasks.starter, count, tasks.all));
  }
  const auto guard = options.find("--guard");
  if (count > 1 && guard && target.config.job.guard == guard_policy::none) {
    refuse_value(*guard, "workers in tasks of a scheduler need their guards");
  }
  workers.nproc_per_node = count;
  workers.has_slots = count > 1;
  target.config.slots = tasks.slots;
}

ELASTIC_DECL slurm_words adopt_node_tasks(given_options& options, const command_line::facts& facts,
                                          option_target& target) {
  slurm_words words;
  if (target.config.job.standalone || !facts.runs_slots) return words;
  auto tasks = find_node_tasks(facts.environment);
  if (!tasks) return words;
  if (!target.config.job_file.empty()) tasks->obstacle = "--job takes one task for each node";
  const bool names_nodes = tasks->starter != "mpirun" || options.find("--nnodes");
  if (tasks->obstacle.empty() && !tasks->is_one_node && !names_nodes) {
    tasks->obstacle = "its variables name no nodes, so --nnodes and --rdzv-endpoint are needed";
  }
  if (!tasks->obstacle.empty()) {
    if (!tasks->is_first) return words;
    words.warnings.push_back(fmt::format("each of the {} tasks of {} is a job by itself: {}",
                                         tasks->all, tasks->starter, tasks->obstacle));
    return words;
  }
  take_tasks(*tasks, options, target);
  if (!tasks->is_first) return words;
  words.warnings.push_back(fmt::format(
      "the {} tasks of {} are the workers of one job; with --standalone, each is a job by itself",
      tasks->all, tasks->starter));
  return words;
}

}  // namespace elastic::detail
