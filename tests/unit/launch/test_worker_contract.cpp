// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What an agent promises to its workers, by the contract of their spec.

#include <elastic/agent/worker_spec.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/launcher.hpp>
#include <support/catch.hpp>
#include <support/fake_launcher.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace worker_contract_tests {

using namespace std::chrono_literals;
using elastic::launch_config;
using elastic::worker_contract;
using elastic::worker_spec;
using elastic::worker_state;
using elastic::test::fake_launcher;
using elastic::test::fake_process;
using elastic::test::log_recorder;
using texts = std::vector<std::string>;

launch_config plain_job() {
  launch_config config;
  config.standalone = true;
  config.event_log_handler = "null";
  config.workers.contract = worker_contract::plain;
  config.workers.program = "/usr/bin/solver";
  config.workers.log_dir = "/dev/null";
  config.workers.nproc_per_node = 2;
  return config;
}

// Runs the job, whose workers succeed at once. Result: the environment of each.
std::vector<texts> environments_of(const launch_config& config, log_recorder& log) {
  asio::io_context context;
  elastic::test::manual_time time(context);
  const auto launcher = std::make_shared<fake_launcher>();
  launcher->on_start = [](fake_process& started) { started.exit(0); };
  elastic::agent_services services;
  services.launcher = launcher;
  services.time = time.share();
  services.log = log.log();
  const elastic::run_result result = time.run(elastic::launch(config, services));
  CHECK(result.state == worker_state::succeeded);
  std::vector<texts> environments;
  for (const auto& worker : launcher->started) environments.push_back(worker->spec.environment);
  return environments;
}

TEST_CASE("worker contract: plain gives workers what the program names, and nothing else",
          "[launch]") {
  launch_config config = plain_job();
  config.workers.environment = {{"HOME", "/root"}};
  config.workers.env = {{"RANK", "${rank}"}, {"SOLVER_SIZE", "${world_size}"},
                        {"SOLVER_HOST", "${master_addr}"}};
  log_recorder log;
  const auto environments = environments_of(config, log);
  REQUIRE(environments.size() == 2);
  CHECK(environments[0] ==
        texts{"HOME=/root", "RANK=0", "SOLVER_HOST=127.0.0.1", "SOLVER_SIZE=2"});
  CHECK(environments[1] ==
        texts{"HOME=/root", "RANK=1", "SOLVER_HOST=127.0.0.1", "SOLVER_SIZE=2"});
  CHECK_FALSE(log.has("OMP_NUM_THREADS"));
}

TEST_CASE("worker contract: the workers of a plain job share a free port", "[launch]") {
  launch_config config = plain_job();
  config.workers.env = {{"PORT", "${master_port}"}};
  log_recorder log;
  const auto environments = environments_of(config, log);
  REQUIRE(environments.size() == 2);
  CHECK(environments[0] == environments[1]);
  const auto variables = elastic::environment_from(environments[0]);
  CHECK(std::stoi(elastic::find_variable(variables, "PORT").value_or("")) > 0);
}

TEST_CASE("worker contract: plain refuses what needs the control channel", "[launch]") {
  worker_spec spec = plain_job().workers;
  spec.env = {{"RANK", "${rank}"}};
  validate(spec);
  const auto refusal = [](const std::string& field) {
    return "worker_spec::" + field +
           " needs the control channel, which workers of the plain contract do not have "
           "(worker_spec::contract)";
  };
  worker_spec bad = spec;
  bad.on_failure = elastic::failure_policy::replace;
  CHECK_THROWS_WITH(validate(bad), refusal("on_failure"));
  for (auto time : {&elastic::liveness_settings::first_heartbeat_timeout,
                    &elastic::liveness_settings::heartbeat_timeout}) {
    bad = spec;
    bad.liveness.*time = 1s;
    CHECK_THROWS_WITH(validate(bad), refusal("liveness"));
  }
  bad = spec;
  bad.liveness.learn_timeouts = 2;
  CHECK_THROWS_WITH(validate(bad), refusal("liveness"));
  bad = spec;
  bad.preempt_grace = 1s;
  CHECK_THROWS_WITH(validate(bad), refusal("preempt_grace"));
  spec.contract = worker_contract::torch;
  CHECK_THROWS_WITH(validate(spec), "worker_spec::env: RANK cannot be chosen, since the agent sets "
                                    "it for each worker");
}

}  // namespace worker_contract_tests
