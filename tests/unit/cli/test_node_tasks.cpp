// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/cli/detail/node_tasks.hpp>
#include <support/catch.hpp>

#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace node_tasks_tests {

using elastic::environment_map;
using elastic::detail::find_node_tasks;
using elastic::detail::parse_tasks_per_node;
using arguments = std::vector<std::string>;

/// What a task of `srun -N2 -n5 --distribution=block` is given by Slurm 22.05.
environment_map slurm(const environment_map& changes = {}) {
  environment_map variables = {{"SLURM_JOB_ID", "4711"},
                               {"SLURM_STEP_ID", "2"},
                               {"SLURM_STEP_NUM_NODES", "2"},
                               {"SLURM_STEP_NUM_TASKS", "5"},
                               {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
                               {"SLURM_STEP_NODELIST", "n[1-2]"},
                               {"SLURM_NODEID", "0"},
                               {"SLURM_LOCALID", "0"},
                               {"SLURM_GTIDS", "0,1,2"},
                               {"SLURM_PROCID", "0"}};
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

/// What a task of `mpirun -n 4` is given by Open MPI 4.1.
environment_map open_mpi(const environment_map& changes = {}) {
  environment_map variables = {{"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_RANK", "0"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                               {"PMIX_NAMESPACE", "prterun-host-17@1"}};
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

/// What one of `mpiexec -n 4` is given by MPICH 4.0.
environment_map mpich(const std::string& rank) {
  return {
      {"PMI_SIZE", "4"}, {"PMI_RANK", rank}, {"MPI_LOCALNRANKS", "4"}, {"MPI_LOCALRANKID", rank}};
}

std::variant<elastic::command_line, elastic::command_line::version_request, elastic::early_exit>
parsed(arguments words, const environment_map& environment) {
  elastic::command_line::facts facts;
  facts.environment = environment;
  facts.runs_slots = true;
  words.emplace_back("a.py");
  return elastic::parse_command_line(words, facts);
}

elastic::command_line line_of(const arguments& words, const environment_map& environment) {
  const auto outcome = parsed(words, environment);
  if (const auto* exit = std::get_if<elastic::early_exit>(&outcome)) FAIL(exit->text);
  return std::get<elastic::command_line>(outcome);
}

TEST_CASE("node tasks: a scheduler's variables say who forms a node of a job", "[cli]") {
  struct row {
    environment_map environment;
    std::string found;
  };
  const std::vector<row> rows = {
      {slurm(), "4711.2-0: 0 of 3, 0 1 2, first of 5"},
      {slurm({{"SLURM_LOCALID", "2"}, {"SLURM_PROCID", "4"}, {"SLURM_GTIDS", "0,2,4"}}),
       "4711.2-0: 2 of 3, 0 2 4, of 5"},
      {slurm({{"SLURM_NODEID", "1"}, {"SLURM_PROCID", "3"}}), "4711.2-1: 0 of 2, , of 5"},
      {slurm({{"SLURM_GTIDS", "x"}}), "4711.2-0: 0 of 3, , first of 5"},
      {slurm({{"SLURM_STEP_TASKS_PER_NODE", "8(x64)"}}), "4711.2-0: 0 of 8, , first of 512"},
      // A node with one task is one of the same job.
      {slurm({{"SLURM_STEP_TASKS_PER_NODE", "4,1"}, {"SLURM_NODEID", "1"}, {"SLURM_PROCID", "3"}}),
       "4711.2-1: 0 of 1, , of 5"},
      {slurm({{"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}}), "none"},
      {slurm({{"SLURM_HET_SIZE", "2"}}), "none"},
      {slurm({{"TORCHELASTIC_RUN_ID", "outer"}}), "none"},
      {slurm({{"SLURM_LOCALID", ""}}), "none"},
      {slurm({{"SLURM_STEP_TASKS_PER_NODE", ""}}), "none"},
      {slurm({{"SLURM_STEP_ID", ""}}), "none"},
      {{}, "none"},
      {open_mpi(), "prterun-host-17-1: 0 of 4, , first of 4"},
      {open_mpi({{"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_RANK", "3"}}),
       "prterun-host-17-1: 3 of 4, , of 4"},
      {open_mpi({{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}), "none"},
      {open_mpi({{"TORCHELASTIC_RUN_ID", "outer"}}), "none"},
  };
  for (const row& entry : rows) {
    INFO(fmt::format("{}", entry.environment));
    const auto found = find_node_tasks(entry.environment);
    if (!found) {
      CHECK(entry.found == "none");
      continue;
    }
    CHECK(entry.found == fmt::format("{}: {} of {}, {}, {}of {}", found->slots.step,
                                     found->slots.place, found->slots.count,
                                     fmt::join(found->slots.numbers, " "),
                                     found->is_first ? "first " : "", found->all));
  }
}

TEST_CASE("node tasks: a variable that says nothing sensible is refused, once", "[cli]") {
  struct row {
    environment_map environment;
    std::string sentence;
  };
  const std::vector<row> rows = {
      {slurm({{"SLURM_LOCALID", "3"}}), "SLURM_LOCALID '3': a whole number from 0 to 2 is needed"},
      {slurm({{"SLURM_LOCALID", "x"}}), "SLURM_LOCALID 'x': a whole number from 0 to 2 is needed"},
      {slurm({{"SLURM_NODEID", "2"}}),
       "SLURM_STEP_TASKS_PER_NODE '3,2': numbers of tasks such as 8(x4) are needed, also for node "
       "2"},
      {slurm({{"SLURM_STEP_TASKS_PER_NODE", "3(x"}}),
       "SLURM_STEP_TASKS_PER_NODE '3(x': numbers of tasks such as 8(x4) are needed, also for node "
       "0"},
      {open_mpi({{"OMPI_COMM_WORLD_LOCAL_SIZE", "-4"}}),
       fmt::format("OMPI_COMM_WORLD_LOCAL_SIZE '-4': a whole number from 0 to {} is needed",
                   elastic::limits::local_world_size)},
  };
  for (const row& entry : rows) {
    const auto outcome = parsed({}, entry.environment);
    REQUIRE(std::holds_alternative<elastic::early_exit>(outcome));
    const auto& exit = std::get<elastic::early_exit>(outcome);
    CHECK(exit.code == 2);
    CHECK(exit.text == fmt::format("elasticrun: error: {}\n", entry.sentence));
  }
}

TEST_CASE("node tasks: Slurm's numbers of tasks are read, or nothing is", "[cli]") {
  CHECK(parse_tasks_per_node("4") == std::vector<int>{4});
  CHECK(parse_tasks_per_node("4(x2),3") == std::vector<int>{4, 4, 3});
  CHECK(parse_tasks_per_node("8(x100000)").size() == 100'000);
  for (const char* wrong :
       {"", ",", "4,", ",4", "4(x0)", "4(x-1)", "4(x2", "(x2)", "4x2", "0", "-1", "a", "4(x100001)",
        "4(x99999),4(x99999)", "99999999999", "4(x2)3", " 4"}) {
    INFO(wrong);
    CHECK(parse_tasks_per_node(wrong) == std::vector<int>());
  }
}

TEST_CASE("node tasks: they are the workers of one job, and options may not contradict", "[cli]") {
  const std::string one_job =
      "the 5 tasks of this step of Slurm are the workers of one job; with --standalone, each is a "
      "job by itself";
  const elastic::command_line first = line_of({}, slurm());
  CHECK(first.warnings.front() == one_job);
  CHECK(first.config.job.workers.nproc_per_node == 3);
  CHECK(first.config.job.workers.has_slots);
  CHECK(first.config.slots.count == 3);
  CHECK(first.config.job.rendezvous.max_nodes == 2);
  CHECK(first.config.job.rendezvous.endpoint == "n1:21729");
  CHECK(first.config.job.rendezvous.run_id == "4711.2");

  const environment_map alone_on_node =
      slurm({{"SLURM_STEP_TASKS_PER_NODE", "4,1"}, {"SLURM_NODEID", "1"}, {"SLURM_PROCID", "3"}});
  const elastic::command_line last = line_of({}, alone_on_node);
  CHECK(last.warnings.empty());
  CHECK(last.config.job.workers.nproc_per_node == 1);
  CHECK_FALSE(last.config.job.workers.has_slots);
  CHECK(last.config.job.rendezvous.max_nodes == 2);

  const elastic::command_line given = line_of({"--nproc-per-node", "3"}, slurm());
  CHECK(given.config.slots.count == 3);
  const elastic::command_line kept = line_of({"--standalone"}, slurm());
  CHECK(kept.config.slots.count == 1);
  CHECK(kept.config.job.workers.nproc_per_node == 1);
  CHECK_FALSE(kept.config.job.workers.has_slots);
  CHECK(kept.warnings.empty());

  for (const auto& [words, sentence] : std::vector<std::pair<arguments, std::string>>{
           {{"--nproc-per-node", "4"},
            "--nproc-per-node '4': this step of Slurm has 3 tasks on this node, of which each is a "
            "worker: leave it out, or give --standalone for 5 jobs"},
           {{"--guard", "none"},
            "--guard 'none': workers in tasks of a scheduler need their guards"}}) {
    const auto outcome = parsed(words, slurm());
    REQUIRE(std::holds_alternative<elastic::early_exit>(outcome));
    CHECK(std::get<elastic::early_exit>(outcome).text ==
          fmt::format("elasticrun: error: {}\n", sentence));
    const auto silent = parsed(words, slurm({{"SLURM_LOCALID", "1"}, {"SLURM_PROCID", "1"}}));
    REQUIRE(std::holds_alternative<elastic::early_exit>(silent));
    CHECK(std::get<elastic::early_exit>(silent).code == 2);
    CHECK(std::get<elastic::early_exit>(silent).text.empty());
  }
}

TEST_CASE("node tasks: under mpirun too, if its variables say enough", "[cli]") {
  const elastic::command_line line = line_of({}, open_mpi());
  CHECK(line.warnings == arguments{"the 4 tasks of mpirun are the workers of one job; with "
                                   "--standalone, each is a job by itself"});
  CHECK(line.config.slots.count == 4);
  CHECK(line.config.job.standalone);

  const environment_map two_nodes = open_mpi({{"OMPI_COMM_WORLD_SIZE", "8"}});
  const elastic::command_line apart = line_of({}, two_nodes);
  CHECK(apart.warnings == arguments{"each of the 8 tasks of mpirun is a job by itself: its "
                                    "variables name no nodes, so --nnodes and --rdzv-endpoint are "
                                    "needed"});
  CHECK(apart.config.slots.count == 1);
  const elastic::command_line named = line_of(
      {"--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", "h:1", "--rdzv-id", "j"},
      two_nodes);
  CHECK(named.config.slots.count == 4);

  CHECK(line_of({}, open_mpi({{"PMIX_NAMESPACE", ""}})).config.slots.count == 1);
  CHECK(line_of({}, mpich("0")).warnings ==
        arguments{"each of the 4 tasks of mpiexec is a job by itself: no variable names this "
                  "launch"});
  CHECK(line_of({}, mpich("1")).warnings.empty());
  CHECK(line_of({"--standalone"}, mpich("0")).warnings.empty());
}

}  // namespace node_tasks_tests
