// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/contract/detail/visible_devices.hpp>
#include <elastic/contract/environment.hpp>
#include <support/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace {

namespace environment_test {

using elastic::environment_map;

elastic::worker_identity second_of_four() {
  elastic::worker_identity worker;
  worker.local_rank = 1;
  worker.rank = 3;
  worker.group_rank = 1;
  worker.role_rank = 2;
  worker.local_world_size = 2;
  worker.world_size = 4;
  worker.group_world_size = 5;
  worker.role_world_size = 6;
  worker.role_name = "trainer";
  return worker;
}

elastic::job_context job() {
  elastic::job_context job;
  job.master_addr = "10.0.0.7";
  job.master_port = 40123;
  job.use_agent_store = true;
  job.run_id = "night";
  job.restart_count = 1;
  job.max_restarts = 3;
  return job;
}

environment_map worker_variables(environment_map base,
                                 const std::string& error_file = "/log/error.json") {
  return elastic::environment_from(
      elastic::worker_environment(std::move(base), second_of_four(), job(), error_file));
}

}  // namespace environment_test

TEST_CASE("environment: a worker gets everything that torchrun promises", "[contract]") {
  const elastic::environment_map expected = {
      {"LOCAL_RANK", "1"},
      {"RANK", "3"},
      {"GROUP_RANK", "1"},
      {"ROLE_RANK", "2"},
      {"LOCAL_WORLD_SIZE", "2"},
      {"WORLD_SIZE", "4"},
      {"GROUP_WORLD_SIZE", "5"},
      {"ROLE_WORLD_SIZE", "6"},
      {"ROLE_NAME", "trainer"},
      {"MASTER_ADDR", "10.0.0.7"},
      {"MASTER_PORT", "40123"},
      {"TORCHELASTIC_RESTART_COUNT", "1"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_RUN_ID", "night"},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_ERROR_FILE", "/log/error.json"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
  };
  CHECK(environment_test::worker_variables({}) == expected);
}

TEST_CASE("environment: a replica has no world, whatever its launcher has", "[contract]") {
  elastic::job_context job = environment_test::job();
  job.has_world = false;
  const elastic::environment_map outer = {
      {"RANK", "9"},        {"WORLD_SIZE", "9"},  {"GROUP_RANK", "9"}, {"GROUP_WORLD_SIZE", "9"},
      {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}, {"LOCAL_RANK", "9"}};
  const elastic::environment_map expected = {
      {"LOCAL_RANK", "1"},
      {"ROLE_RANK", "2"},
      {"LOCAL_WORLD_SIZE", "2"},
      {"ROLE_WORLD_SIZE", "6"},
      {"ROLE_NAME", "trainer"},
      {"TORCHELASTIC_RESTART_COUNT", "1"},
      {"TORCHELASTIC_MAX_RESTARTS", "3"},
      {"TORCHELASTIC_RUN_ID", "night"},
      {"TORCHELASTIC_ERROR_FILE", "/log/error.json"},
  };
  CHECK(elastic::environment_from(elastic::worker_environment(
            outer, environment_test::second_of_four(), job, "/log/error.json")) == expected);
}

TEST_CASE("environment: what the agent says replaces what was inherited", "[contract]") {
  const auto variables = environment_test::worker_variables(
      {{"RANK", "99"}, {"MASTER_PORT", "1"}, {"TORCHELASTIC_ERROR_FILE", "/outer/error.json"}});
  CHECK(variables.at("RANK") == "3");
  CHECK(variables.at("MASTER_PORT") == "40123");
  CHECK(variables.at("TORCHELASTIC_ERROR_FILE") == "/log/error.json");
}

TEST_CASE("environment: each name appears once", "[contract]") {
  const auto entries =
      elastic::worker_environment({{"RANK", "99"}, {"PATH", "/bin"}},
                                  environment_test::second_of_four(), environment_test::job(), "");
  CHECK(elastic::environment_from(entries).size() == entries.size());
}

TEST_CASE("environment: what is the user's reaches the worker unchanged", "[contract]") {
  const elastic::environment_map user_variables = {
      {"OMP_NUM_THREADS", "7"},
      {"TORCHELASTIC_TIMER_FILE", "/tmp/watchdog"},
      {"CUDA_VISIBLE_DEVICES", "2,3"},
      {"NCCL_ASYNC_ERROR_HANDLING", "0"},
      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"},
      {"EMPTY", ""},
      {"EQUALS", "a=b=c"},
      {"LINES", "one\ntwo"},
  };
  const auto variables = environment_test::worker_variables(user_variables);
  for (const auto& [name, value] : user_variables) {
    INFO(name);
    CHECK(variables.at(name) == value);
  }
}

TEST_CASE("environment: NCCL's old name is for workers of an old PyTorch, or the user's",
          "[contract]") {
  auto job = environment_test::job();
  const auto value = [&](elastic::environment_map base) {
    const auto variables = elastic::environment_from(
        elastic::worker_environment(std::move(base), environment_test::second_of_four(), job, ""));
    return elastic::find_variable(variables, "NCCL_ASYNC_ERROR_HANDLING");
  };
  CHECK_FALSE(value({}));
  CHECK(value({{"NCCL_ASYNC_ERROR_HANDLING", "0"}}) == "0");
  job.old_nccl_name = true;
  CHECK(value({}) == "1");
  CHECK(value({{"NCCL_ASYNC_ERROR_HANDLING", "0"}}) == "0");
}

TEST_CASE("environment: visible devices are counted as PyTorch 2.13 does", "[contract]") {
  using devices = std::vector<std::string>;
  const struct {
    const char* list;
    devices entries;
  } rows[] = {{"5", {"5"}}, {" 5 , 3", {"5", "3"}}, {"", {""}}, {"1,", {"1", ""}}};
  for (const auto& row : rows) {
    CHECK(elastic::detail::visible_devices({{"LIST", row.list}}, "LIST") == row.entries);
  }
  CHECK(elastic::detail::visible_devices({}, "LIST").empty());
  // No GPU is visible, and none becomes so.
  elastic::environment_map variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  elastic::detail::leave_one_device(variables, 0);
  CHECK(variables["CUDA_VISIBLE_DEVICES"].empty());
}

TEST_CASE("environment: one device is left of ROCm's list, too, as in PyTorch 2.15", "[contract]") {
  using variables = elastic::environment_map;
  const struct {
    variables given;
    variables left;
  } rows[] = {
      {{}, {{"CUDA_VISIBLE_DEVICES", "1"}}},
      {{{"CUDA_VISIBLE_DEVICES", "5, 7"}}, {{"CUDA_VISIBLE_DEVICES", "7"}}},
      {{{"HIP_VISIBLE_DEVICES", "2, 3"}},
       {{"CUDA_VISIBLE_DEVICES", "3"}, {"HIP_VISIBLE_DEVICES", "3"}}},
      // HIP's list precedes, as in ROCm.
      {{{"CUDA_VISIBLE_DEVICES", "5,7"}, {"HIP_VISIBLE_DEVICES", "2,3"}},
       {{"CUDA_VISIBLE_DEVICES", "3"}, {"HIP_VISIBLE_DEVICES", "3"}}},
      // HIP counts the devices that ROCR leaves.
      {{{"ROCR_VISIBLE_DEVICES", "4,6"}},
       {{"CUDA_VISIBLE_DEVICES", "1"}, {"ROCR_VISIBLE_DEVICES", "4,6"}}},
      {{{"HIP_VISIBLE_DEVICES", "1,0"}, {"ROCR_VISIBLE_DEVICES", "4,6"}},
       {{"CUDA_VISIBLE_DEVICES", "0"},
        {"HIP_VISIBLE_DEVICES", "0"},
        {"ROCR_VISIBLE_DEVICES", "4,6"}}},
  };
  for (const auto& row : rows) {
    variables left = row.given;
    elastic::detail::leave_one_device(left, 1);
    CHECK(left == row.left);
  }
}

TEST_CASE("environment: an empty error file is said as empty text", "[contract]") {
  CHECK(environment_test::worker_variables({}, "").at("TORCHELASTIC_ERROR_FILE").empty());
}

TEST_CASE("environment: without a store of the agent workers are told False", "[contract]") {
  auto job = environment_test::job();
  job.use_agent_store = false;
  const auto variables = elastic::environment_from(
      elastic::worker_environment({}, environment_test::second_of_four(), job, ""));
  CHECK(variables.at("TORCHELASTIC_USE_AGENT_STORE") == "False");
}

TEST_CASE("environment: entries are read as getenv would", "[contract]") {
  const char* const entries[] = {"A=1",       "B=",   "C=x=y", "A=2", "no equals sign",
                                 "=nameless", nullptr};
  const elastic::environment_map expected = {{"A", "1"}, {"B", ""}, {"C", "x=y"}};
  CHECK(elastic::environment_from(entries) == expected);
  CHECK(elastic::environment_from(static_cast<const char* const*>(nullptr)).empty());
  CHECK(elastic::environment_from(std::vector<std::string>{"A=1", "A=2", "bad"}) ==
        elastic::environment_map{{"A", "1"}});
}

TEST_CASE("environment: a variable that is not set is not an empty one", "[contract]") {
  const elastic::environment_map variables = {{"SET", ""}};
  CHECK(elastic::find_variable(variables, "SET") == "");
  CHECK_FALSE(elastic::find_variable(variables, "UNSET").has_value());
}

TEST_CASE("environment: OMP_NUM_THREADS becomes 1 only for several workers without one",
          "[contract]") {
  struct row {
    elastic::environment_map initial_variables;
    int workers;
    elastic::environment_map final_variables;
    bool has_warning;
  };
  const std::vector<row> rows = {
      {{}, 1, {}, false},
      {{}, 2, {{"OMP_NUM_THREADS", "1"}}, true},
      {{}, 8, {{"OMP_NUM_THREADS", "1"}}, true},
      {{{"OMP_NUM_THREADS", "4"}}, 2, {{"OMP_NUM_THREADS", "4"}}, false},
      {{{"OMP_NUM_THREADS", ""}}, 2, {{"OMP_NUM_THREADS", ""}}, false},
  };
  for (const row& entry : rows) {
    auto variables = entry.initial_variables;
    const auto warning = elastic::limit_omp_threads(variables, entry.workers);
    CHECK(variables == entry.final_variables);
    CHECK(warning.has_value() == entry.has_warning);
    if (!warning) continue;
    CHECK_THAT(*warning, elastic::test::contains_text("OMP_NUM_THREADS"));
    CHECK(warning->find('\n') == warning->npos);
  }
}

}  // namespace
