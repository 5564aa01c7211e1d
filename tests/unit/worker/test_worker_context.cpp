// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/worker/worker_context.hpp>
#include <support/catch.hpp>

#include <string>
#include <vector>

namespace {

// The variables that an agent gives to the second worker of the second of three nodes.
elastic::environment_map worker_context_variables() {
  elastic::worker_identity worker;
  worker.local_rank = 1;
  worker.rank = 3;
  worker.group_rank = 1;
  worker.role_rank = 2;
  worker.local_world_size = 2;
  worker.world_size = 6;
  worker.group_world_size = 3;
  worker.role_world_size = 5;
  worker.role_name = "trainer";
  elastic::job_context job;
  job.master_addr = "10.0.0.1";
  job.master_port = 29500;
  job.use_agent_store = true;
  job.run_id = "run 7";
  job.restart_count = 1;
  job.max_restarts = 4;
  return elastic::environment_from(elastic::worker_environment({}, worker, job, "/tmp/error.json"));
}

TEST_CASE("worker context: a worker reads what its agent told it", "[worker]") {
  const auto context = elastic::worker_context_from(worker_context_variables());
  CHECK(context.local_rank == 1);
  CHECK(context.rank == 3);
  CHECK(context.group_rank == 1);
  CHECK(context.role_rank == 2);
  CHECK(context.local_world_size == 2);
  CHECK(context.world_size == 6);
  CHECK(context.group_world_size == 3);
  CHECK(context.role_world_size == 5);
  CHECK(context.role_name == "trainer");
  CHECK(context.master_addr == "10.0.0.1");
  CHECK(context.master_port == 29500);
  CHECK(context.use_agent_store);
  CHECK(context.run_id == "run 7");
  CHECK(context.restart_count == 1);
  CHECK(context.max_restarts == 4);
  CHECK(context.error_file == "/tmp/error.json");
}

TEST_CASE("worker context: what may be missing or different", "[worker]") {
  auto variables = worker_context_variables();
  variables.erase("TORCHELASTIC_ERROR_FILE");
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  const auto context = elastic::worker_context_from(variables);
  CHECK(context.error_file.empty());
  CHECK_FALSE(context.use_agent_store);
}

TEST_CASE("worker context: a replica knows its place in its role", "[worker]") {
  auto variables = worker_context_variables();
  for (const char* const name : {"RANK", "WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
                                 "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE"}) {
    variables.erase(name);
  }
  const auto context = elastic::worker_context_from(variables);
  CHECK_FALSE(context.has_world);
  CHECK(context.role_rank == 2);
  CHECK(context.role_world_size == 5);
  CHECK(context.local_rank == 1);
  CHECK(context.rank == 0);
  CHECK(context.world_size == 1);
  CHECK(context.restart_count == 1);
  CHECK(elastic::worker_context_from(worker_context_variables()).has_world);
}

TEST_CASE("worker context: each variable that is missing is named", "[worker]") {
  for (const auto& [name, value] : worker_context_variables()) {
    if (name == "TORCHELASTIC_ERROR_FILE" || name.find("NCCL") != std::string::npos) continue;
    auto variables = worker_context_variables();
    variables.erase(name);
    REQUIRE_THROWS_WITH(elastic::worker_context_from(variables),
                        name + " is not set: a worker is started by elasticrun or torchrun");
  }
}

TEST_CASE("worker context: each number out of bounds is refused with its bounds", "[worker]") {
  struct row {
    const char* name;
    const char* value;
    const char* sentence;
  };
  const std::vector<row> rows = {
      {"RANK", "6", "RANK is '6': a number from 0 to 5 is allowed"},
      {"RANK", "-1", "RANK is '-1': a number from 0 to 5 is allowed"},
      {"RANK", "", "RANK is '': a number from 0 to 5 is allowed"},
      {"RANK", "1 ", "RANK is '1 ': a number from 0 to 5 is allowed"},
      {"RANK", "99999999999", "RANK is '99999999999': a number from 0 to 5 is allowed"},
      {"LOCAL_RANK", "2", "LOCAL_RANK is '2': a number from 0 to 1 is allowed"},
      {"GROUP_RANK", "3", "GROUP_RANK is '3': a number from 0 to 2 is allowed"},
      {"ROLE_RANK", "5", "ROLE_RANK is '5': a number from 0 to 4 is allowed"},
      {"WORLD_SIZE", "0", "WORLD_SIZE is '0': a number from 1 to 409600000 is allowed"},
      {"LOCAL_WORLD_SIZE", "4097",
       "LOCAL_WORLD_SIZE is '4097': a number from 1 to 4096 is allowed"},
      {"GROUP_WORLD_SIZE", "x", "GROUP_WORLD_SIZE is 'x': a number from 1 to 100000 is allowed"},
      {"MASTER_PORT", "0", "MASTER_PORT is '0': a number from 1 to 65535 is allowed"},
      {"MASTER_PORT", "65536", "MASTER_PORT is '65536': a number from 1 to 65535 is allowed"},
      {"MASTER_ADDR", "", "MASTER_ADDR is empty"},
      {"TORCHELASTIC_RESTART_COUNT", "-1",
       "TORCHELASTIC_RESTART_COUNT is '-1': a number from 0 to 2147483647 is allowed"},
  };
  for (const row& entry : rows) {
    auto variables = worker_context_variables();
    variables[entry.name] = entry.value;
    REQUIRE_THROWS_WITH(elastic::worker_context_from(variables), entry.sentence);
  }
}

}  // namespace
