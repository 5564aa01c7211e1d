// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/cli/command_line.hpp>
#include <elastic/cli/detail/slurm_hosts.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace slurm_tests {

using elastic::environment_map;
using arguments = std::vector<std::string>;
using elastic::detail::parse_slurm_hosts;

TEST_CASE("slurm hosts: a list names its hosts in order", "[cli]") {
  struct row {
    std::string list;
    std::string hosts;
  };
  for (const row& entry :
       {row{"n1", "n1"}, row{"n1,n2", "n1 n2"}, row{"n[1-3]", "n1 n2 n3"},
        row{"n[01-03,7]", "n01 n02 n03 n7"}, row{"n[098-101]", "n098 n099 n100 n101"},
        row{"n[9-11]", "n9 n10 n11"},
        row{"gpu-a[1,2]-ib.example", "gpu-a1-ib.example gpu-a2-ib.example"},
        row{"login,rack[0-1]n[08-09]", "login rack0n08 rack0n09 rack1n08 rack1n09"},
        row{"127.0.0.[1-2]", "127.0.0.1 127.0.0.2"}, row{"[1-2]", "1 2"}, row{"n[3-3]", "n3"}}) {
    INFO(entry.list);
    CHECK(fmt::format("{}", fmt::join(parse_slurm_hosts(entry.list), " ")) == entry.hosts);
  }
}

TEST_CASE("slurm hosts: what is not a list, or too large a one, is refused", "[cli]") {
  const std::string long_name(elastic::limits::host_name_bytes + 1, 'n');
  for (const std::string& list : {std::string(),
                                  std::string(","),
                                  std::string("n1,"),
                                  std::string(",n1"),
                                  std::string("n1,,n2"),
                                  std::string("n["),
                                  std::string("n[]"),
                                  std::string("n[1"),
                                  std::string("n[1-"),
                                  std::string("n[1-]"),
                                  std::string("n[-1]"),
                                  std::string("n[1,]"),
                                  std::string("n[a]"),
                                  std::string("n[2-1]"),
                                  std::string("n]1["),
                                  std::string("n1]"),
                                  std::string("n[[1]]"),
                                  std::string("n 1"),
                                  std::string("n\n"),
                                  std::string(1, '\0'),
                                  std::string("n[1-100001]"),
                                  std::string("n[0-18446744073709551615]"),
                                  std::string("n[1-99999999999999999999]"),
                                  std::string("n[1-400]x[1-400]"),
                                  long_name,
                                  std::string(250, 'n') + "[100000-100001]"}) {
    INFO(list.substr(0, 40));
    CHECK_THROWS_AS(parse_slurm_hosts(list), elastic::error);
  }
  CHECK(parse_slurm_hosts("n[1-100000]").size() == 100'000);
}

elastic::command_line command_line_of(arguments words, environment_map environment) {
  words.emplace_back("a.py");
  elastic::command_line::facts facts;
  facts.environment = std::move(environment);
  const auto outcome = elastic::parse_command_line(words, facts);
  if (const auto* exit = std::get_if<elastic::early_exit>(&outcome)) FAIL(exit->text);
  return std::get<elastic::command_line>(outcome);
}

/// What a task of `srun` is given, as Slurm 22.05 does.
environment_map step(environment_map changes = {}) {
  environment_map variables = {{"SLURM_JOB_ID", "4711"},
                               {"SLURM_STEP_ID", "2"},
                               {"SLURM_STEP_NUM_NODES", "4"},
                               {"SLURM_STEP_NUM_TASKS", "4"},
                               {"SLURM_STEP_NODELIST", "n[1-4]"},
                               {"SLURM_NODEID", "3"},
                               {"SLURM_PROCID", "0"}};
  for (auto& [name, value] : changes) variables[name] = value;
  return variables;
}

std::string meeting(const elastic::command_line& line) {
  const elastic::rendezvous_parameters& parameters = line.config.job.rendezvous;
  if (line.config.job.standalone) return "alone";
  const std::string address = parameters.backend == "static" && parameters.endpoint.empty()
                                  ? fmt::format("{}:{} {}", line.config.job.master_addr,
                                                line.config.job.master_port, parameters.node_rank)
                                  : parameters.endpoint;
  return fmt::format("{}:{} {} {} {}", parameters.min_nodes, parameters.max_nodes,
                     parameters.backend, address, parameters.run_id);
}

TEST_CASE("slurm step: what no option says is what Slurm says", "[cli]") {
  struct row {
    arguments words;
    environment_map environment;
    std::string meeting;
    std::string note;
  };
  const std::vector<row> rows = {
      {{},
       step(),
       "4:4 c10d n1:21729 4711.2",
       "from Slurm's variables: --nnodes 4 --rdzv-backend c10d --rdzv-endpoint n1:21729 --rdzv-id "
       "4711.2"},
      {{}, step({{"SLURM_RESTART_COUNT", "0"}}), "4:4 c10d n1:21729 4711.2", ""},
      {{}, step({{"SLURM_RESTART_COUNT", "3"}}), "4:4 c10d n1:21729 4711.2-3", ""},
      {{},
       step({{"SLURM_JOB_ID", "4294967295"}, {"SLURM_STEP_ID", "0"}}),
       "4:4 c10d n1:17295 4294967295.0",
       ""},
      {{"--nnodes", "3:4"}, step(), "3:4 c10d n1:21729 4711.2", ""},
      {{"--rdzv-id", "mine"}, step(), "4:4 c10d n1:21729 mine", ""},
      {{"--rdzv-endpoint", "h:1", "--rdzv-backend", "c10d"}, step(), "4:4 c10d h:1 4711.2", ""},
      {{"--rdzv-backend", "etcd"}, step(), "4:4 etcd  4711.2", ""},
      {{"--rdzv-backend", "static"},
       step(),
       "4:4 static n1:21729 3 4711.2",
       "from Slurm's variables: --nnodes 4 --node-rank 3 --master-addr n1 --master-port 21729 "
       "--rdzv-id 4711.2"},
      {{"--node-rank", "3"}, step(), "4:4 static n1:21729 3 4711.2", ""},
      {{"--master-addr", "h"}, step(), "4:4 static h:29500 3 4711.2", ""},
      {{"--master-port", "7"}, step(), "4:4 static n1:7 3 4711.2", ""},
      {{"--rdzv-endpoint", "h:1"}, step(), "4:4 static h:1 4711.2", ""},
      // Everything is said by options, as torchrun's users do: nothing is looked at.
      {{"--nnodes", "4", "--rdzv-backend", "c10d", "--rdzv-endpoint", "h:1", "--rdzv-id", "j"},
       step({{"SLURM_STEP_NODELIST", "["}, {"SLURM_JOB_ID", "x"}}),
       "4:4 c10d h:1 j",
       ""},
      {{}, step({{"PET_NNODES", "2:4"}}), "2:4 c10d n1:21729 4711.2", ""},
      {{"--standalone"}, step(), "alone", ""},
      {{}, step({{"TORCHELASTIC_RUN_ID", "outer"}}), "alone", ""},
      {{}, step({{"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "alone", ""},
      // The batch script itself.
      {{},
       {{"SLURM_JOB_ID", "4711"},
        {"SLURM_JOB_NUM_NODES", "4"},
        {"SLURM_PROCID", "0"},
        {"SLURM_NODEID", "0"},
        {"SLURM_JOB_NODELIST", "n[1-4]"}},
       "alone",
       ""},
  };
  for (const row& entry : rows) {
    INFO(fmt::format("{} in {}", entry.words, entry.environment));
    const elastic::command_line line = command_line_of(entry.words, entry.environment);
    CHECK(meeting(line) == entry.meeting);
    CHECK(line.warnings.empty());
    if (!entry.note.empty()) CHECK(line.notes == arguments{entry.note});
    if (entry.meeting == "alone") CHECK(line.notes.empty());
  }
}

TEST_CASE("slurm step: options win over what contradicts them, which is said once", "[cli]") {
  struct row {
    arguments words;
    environment_map environment;
    std::string meeting;
    std::string warning;
  };
  std::vector<row> rows = {
      {{"--nnodes", "8"},
       step(),
       "8:8 c10d n1:21729 4711.2",
       "--nnodes 8 counts, although the step of Slurm has 4 nodes"},
      {{"--nnodes", "1"},
       step(),
       "alone",
       "--nnodes 1 counts, although the step of Slurm has 4 nodes: each of them is a job by "
       "itself"},
      {{"--rdzv-backend", "static", "--node-rank", "1"},
       step(),
       "4:4 static n1:21729 1 4711.2",
       "--node-rank 1 counts, although SLURM_NODEID is 3"},
      {{},
       step({{"SLURM_STEP_NUM_TASKS", "32"}}),
       "alone",
       "nothing is taken from Slurm's variables: srun starts 32 tasks on 4 nodes, and elasticrun "
       "takes one on each (--ntasks-per-node=1)"},
      {{},
       step({{"SLURM_HET_SIZE", "2"}}),
       "alone",
       "nothing is taken from Slurm's variables: the job is a heterogeneous one, which takes "
       "--nnodes and --rdzv-endpoint"},
  };
  for (row& entry : rows) {
    INFO(fmt::format("{} in {}", entry.words, entry.environment));
    const elastic::command_line line = command_line_of(entry.words, entry.environment);
    CHECK(meeting(line) == entry.meeting);
    CHECK(line.warnings == arguments{entry.warning});
    // What is true of all nodes is said by the first alone.
    entry.environment["SLURM_PROCID"] = "1";
    const bool is_of_node = entry.warning.find("SLURM_NODEID") != std::string::npos;
    CHECK(command_line_of(entry.words, entry.environment).warnings.size() == (is_of_node ? 1 : 0));
  }
}

TEST_CASE("slurm step: a variable that would be used and says nothing is refused", "[cli]") {
  struct row {
    environment_map changes;
    std::string sentence;
  };
  const std::vector<row> rows = {
      {{{"SLURM_STEP_NODELIST", "n[1"}},
       "SLURM_STEP_NODELIST 'n[1': a bracket in it is not closed; name the first host by an "
       "option"},
      {{{"SLURM_STEP_NODELIST", ""}},
       "SLURM_STEP_NODELIST '': a host has no name; name the first host by an option"},
      {{{"SLURM_STEP_NUM_NODES", "x"}},
       "SLURM_STEP_NUM_NODES 'x': a whole number from 0 to 4294967295 is needed"},
      {{{"SLURM_STEP_NUM_NODES", "100001"}, {"SLURM_STEP_NUM_TASKS", "100001"}},
       "SLURM_STEP_NUM_NODES '100001': allowed is N, MIN:MAX with 1 <= MIN <= MAX <= 100000, or "
       "numbers such as 2,4,8"},
      {{{"SLURM_JOB_ID", "-1"}},
       "SLURM_JOB_ID '-1': a whole number from 0 to 4294967295 is needed"},
      {{{"SLURM_STEP_ID", "4294967296"}},
       "SLURM_STEP_ID '4294967296': a whole number from 0 to 4294967295 is needed"},
  };
  for (const row& entry : rows) {
    INFO(entry.sentence);
    elastic::command_line::facts facts;
    facts.environment = step(entry.changes);
    const auto outcome = elastic::parse_command_line({"a.py"}, facts);
    REQUIRE(std::holds_alternative<elastic::early_exit>(outcome));
    CHECK(std::get<elastic::early_exit>(outcome).code == 2);
    CHECK(std::get<elastic::early_exit>(outcome).text ==
          "elasticrun: error: " + entry.sentence + "\n");
  }
}

}  // namespace slurm_tests
