// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/debugger/debugger_launcher.hpp>
#include <program/debugger/silent_job.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace debugger_unit_test {

using words = std::vector<std::string>;

words with_debugpy(const words& arguments) {
  elastic::process_spec spec;
  spec.arguments = arguments;
  elasticrun::insert_debugpy(spec, "127.0.0.1:5678");
  return spec.arguments;
}

TEST_CASE("debugger: debugpy is between Python's flag and the script", "[program]") {
  CHECK(with_debugpy({"-u", "train.py", "--lr", "0.1"}) ==
        words{"-u", "-Xfrozen_modules=off", "-m", "debugpy", "--listen", "127.0.0.1:5678",
              "--wait-for-client", "train.py", "--lr", "0.1"});
  CHECK(with_debugpy({"-u", "-m", "train"}) ==
        words{"-u", "-Xfrozen_modules=off", "-m", "debugpy", "--listen", "127.0.0.1:5678",
              "--wait-for-client", "-m", "train"});
}

TEST_CASE("debugger: every rule about silence is off", "[program]") {
  using namespace std::chrono_literals;
  elastic::program_config config;
  elastic::worker_spec& workers = config.job.workers;
  workers.program = "python3";
  workers.environment = {{"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT", "5"},
                         {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"}};
  workers.liveness.heartbeat_timeout = 1s;
  workers.watch_interval = 5s;
  config.diagnosis.stall_after = 30s;
  config.diagnosis.on_stall = elastic::job_diagnosis::policy::restart;
  elasticrun::tolerate_silence(config);
  CHECK(workers.liveness.heartbeat_timeout == elastic::duration::max());
  CHECK(workers.watch_interval == 0s);
  CHECK(workers.rejoin_timeout > 24h);
  CHECK(workers.exit_barrier_timeout > 24h);
  CHECK(*config.diagnosis.stall_after > 24h);
  CHECK(config.diagnosis.on_stall == elastic::job_diagnosis::policy::warn);
  CHECK(workers.environment == elastic::environment_map{{"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"},
                                                        {"TORCH_NCCL_ENABLE_MONITORING", "0"}});
  CHECK_NOTHROW(validate(workers));
}

}  // namespace debugger_unit_test
