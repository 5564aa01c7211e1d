// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Real jobs whose workers report steps: what is said of their time against what they did.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

namespace goodput_test {

using elastic::test::contains_text;
using elastic::test::elasticrun_stage;
using elastic::test::program_result;
using elastic::test::run_program;
using elastic::test::running_program;
using words = std::vector<std::string>;

double sum_in(const std::string& path) {
  std::ifstream file(path);
  double sum = 0;
  for (double number = 0; file >> number;) sum += number;
  return sum;
}

TEST_CASE("goodput: of a real job, within two points of what it did", "[integration][goodput]") {
  struct row {
    const char* fault;
    words options;
    /// What the fault itself cost, by the name of its use, in seconds at least.
    const char* use;
    double seconds;
  };
  const row job = GENERATE(values<row>(
      {{"crash", {}, "rollback", 0.9},
       {"hang", {"--heartbeat-timeout", "4"}, "stall", 3.5},
       {"stall", {"--diagnose", "--stall-after", "1.5"}, "stall", 4.5}}));
  CAPTURE(job.fault);
  const elasticrun_stage stage;
  const std::string folder = stage.folder / "marks";
  std::filesystem::create_directory(folder);
  const program_result result = run_program(
      stage.elasticrun({{"--standalone", "--nproc-per-node", "2", "--max-restarts", "1",
                         "--log-dir", stage.logs()},
                        job.options,
                        {ELASTIC_SOURCE_DIR "/tests/integration/python/goodput_worker.py",
                         job.fault, folder}}),
      stage.environment({{"OMP_NUM_THREADS", "1"}}), std::chrono::seconds(120));
  INFO(result.err);
  REQUIRE(result.code == 0);
  const program_result status =
      run_program({ELASTIC_ELASTICRUN, "status", "--json", stage.logs()}, stage.environment());
  const auto seconds = nlohmann::json::parse(status.out)["seconds"];
  INFO(seconds.dump());
  double whole = 0;
  for (const auto& each : seconds) whole += each.get<double>();
  const double productive = sum_in(folder + "/new_steps");
  REQUIRE(productive > 0);
  CHECK(std::abs(seconds["productive"].get<double>() - productive) <= 0.02 * whole);
  CHECK(std::abs(whole - seconds["productive"].get<double>() - (whole - productive)) <=
        0.02 * whole);
  CHECK(seconds[job.use].get<double>() >= job.seconds);
  CHECK(seconds["start"].get<double>() >= 2.0);
  const program_result story =
      run_program({ELASTIC_ELASTICRUN, "explain", stage.logs()}, stage.environment());
  CHECK_THAT(story.out, contains_text("\nWhere the time went\n  productive "));
  CHECK(story.out.find("No worker reported a step") == std::string::npos);
}

TEST_CASE("goodput: each node of a job that stalled has lost the time", "[integration][goodput]") {
  const std::string endpoint = "127.0.0.1:" + std::to_string(elastic::test::reserved_port());
  const elasticrun_stage stage;
  const std::string folder = stage.folder / "marks";
  std::filesystem::create_directory(folder);
  const auto node = [&](const std::string& name) {
    return std::make_unique<running_program>(
        stage.elasticrun({{"--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-endpoint", endpoint,
                           "--rdzv-id", "job", "--node-name", name, "--diagnose", "--stall-after",
                           "1.5", "--log-dir", stage.folder / name},
                          {ELASTIC_SOURCE_DIR "/tests/integration/python/goodput_worker.py",
                           "stall", folder}}),
        stage.environment({{"OMP_NUM_THREADS", "1"}}));
  };
  const auto first = node("first");
  const auto second = node("second");
  for (const auto* program : {&first, &second}) {
    const program_result result = (*program)->wait();
    INFO(result.err);
    REQUIRE(result.code == 0);
  }
  for (const char* name : {"first", "second"}) {
    const program_result status =
        run_program({ELASTIC_ELASTICRUN, "status", "--json", stage.folder / name},
                    stage.environment());
    INFO(status.out);
    const auto seconds = nlohmann::json::parse(status.out)["seconds"];
    CHECK(seconds["stall"].get<double>() >= 4.5);
  }
}

}  // namespace goodput_test

}  // namespace
