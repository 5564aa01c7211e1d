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

/// What happens to a job.
struct fault {
  const char* name;
  words options;
  /// What the fault itself cost, by the name of its use, in seconds at least.
  const char* use;
  double seconds;
};

/// What is said of the time of a job, and what it did.
struct account {
  program_result result;
  nlohmann::json seconds;
  double whole = 0;
  double productive = 0;
  std::string story;

  bool is_near() const {
    return std::abs(of("productive") - productive) <= 0.02 * whole;
  }
  double of(const char* use) const { return seconds.at(use).get<double>(); }
  /// Whether it is what the fault should cost.
  bool has(const fault& cost) const {
    return is_near() && of(cost.use) >= cost.seconds && of("start") >= 2.0;
  }
};

account account_of(const fault& cause) {
  const elasticrun_stage stage;
  const std::string folder = stage.folder / "marks";
  std::filesystem::create_directory(folder);
  account told;
  told.result = run_program(
      stage.elasticrun({{"--standalone", "--nproc-per-node", "2", "--max-restarts", "1",
                         "--log-dir", stage.logs()},
                        cause.options,
                        {ELASTIC_SOURCE_DIR "/tests/integration/python/goodput_worker.py",
                         cause.name, folder}}),
      stage.environment({{"OMP_NUM_THREADS", "1"}}), std::chrono::seconds(120));
  const program_result status =
      run_program({ELASTIC_ELASTICRUN, "status", "--json", stage.logs()}, stage.environment());
  told.seconds = nlohmann::json::parse(status.out)["seconds"];
  for (const auto& each : told.seconds) told.whole += each.get<double>();
  told.productive = sum_in(folder + "/new_steps");
  const program_result story =
      run_program({ELASTIC_ELASTICRUN, "explain", stage.logs()}, stage.environment());
  told.story = story.out;
  return told;
}

TEST_CASE("goodput: of a real job, within two points of what it did", "[integration][goodput]") {
  const fault cause = GENERATE(values<fault>(
      {{"crash", {}, "rollback", 0.9},
       {"hang", {"--heartbeat-timeout", "4"}, "stall", 3.5},
       {"stall", {"--diagnose", "--stall-after", "1.5"}, "stall", 4.5}}));
  CAPTURE(cause.name);
  account told = account_of(cause);
  // On a busy machine an agent may hear late of a step, or take a slow one for a stall.
  constexpr int more_tries = 2;
  for (int made = 0; made < more_tries && !(told.result.code == 0 && told.has(cause)); ++made) {
    told = account_of(cause);
  }
  INFO(told.result.err << told.seconds.dump());
  REQUIRE(told.result.code == 0);
  REQUIRE(told.productive > 0);
  CAPTURE(told.productive, told.whole);
  CHECK(told.is_near());
  CHECK(told.of(cause.use) >= cause.seconds);
  CHECK(told.of("start") >= 2.0);
  CHECK_THAT(told.story, contains_text("\nWhere the time went\n  productive "));
  CHECK(told.story.find("No worker reported a step") == std::string::npos);
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
    // Of five, but an agent may hear late of the last step before. Without what it took to find
    // the stall it would be three and a half.
    CHECK(seconds["stall"].get<double>() >= 4.0);
  }
}

}  // namespace goodput_test

}  // namespace
