// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The jobs of several roles in examples/: a reinforcement loop on PyTorch, and a server with
// replicas. Each is disturbed once and still completes its work.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace role_examples_tests {

using elastic::test::contains_text;
using elastic::test::program_result;
using words = std::vector<std::string>;

struct example_stage : elastic::test::elasticrun_stage {
  /// Runs the job of an example; one process of it dies as `crash` says.
  program_result run(const std::string& example, const std::string& crash,
                     const std::string& python = "python3", const words& options = {}) const {
    const std::string folder_of_example = ELASTIC_SOURCE_DIR "/examples/" + example;
    const words command = elasticrun({{"--job", "job.toml", "--env", "CRASH=" + crash}, options});
    words in_folder{"sh", "-c", "cd \"$0\" && exec \"$@\"", folder_of_example};
    in_folder.insert(in_folder.end(), command.begin(), command.end());
    return run_command(in_folder, {{"PYTHON_EXEC", python},
                                   {"PYTHONDONTWRITEBYTECODE", "1"},
                                   {"OMP_NUM_THREADS", "1"},
                                   {"LOGLEVEL", "INFO"}});
  }
};

/// The reinforcement loop, with a checkpoint of its own.
program_result learn(const example_stage& stage, const std::string& crash,
                     const std::string& python, const words& settings = {}) {
  words options{"--set", fmt::format("trainer.env={{ CHECKPOINT = \"{}\" }}",
                                     stage.folder / "checkpoint.pt")};
  for (const std::string& setting : settings) {
    options.insert(options.end(), {"--set", setting});
  }
  return stage.run("roles", crash, python, options);
}

/// What the trainer says of its steps.
struct training {
  explicit training(const std::string& out) {
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      int step = 0;
      int trainer = 0;
      int rollout = 0;
      double reward = 0;
      constexpr const char* form =
          "step %d: reward %lf (trainer %d, rollout %d has served %d)";
      if (std::sscanf(line.c_str(), form, &step, &reward, &trainer, &rollout, &served) != 5) {
        continue;
      }
      steps.push_back(step);
      trainers.insert(trainer);
      rollouts.insert(rollout);
    }
  }

  std::vector<int> steps;
  std::set<int> trainers;
  /// Those that answered rank 0, and how many requests the last one had served.
  std::set<int> rollouts;
  int served = 0;
};

/// 1 to 60: each step was taken once.
std::vector<int> all_steps() {
  std::vector<int> steps;
  for (int step = 1; step <= 60; ++step) steps.push_back(step);
  return steps;
}

TEST_CASE("roles example: a rollout dies, no step is lost, and the trainer does not notice",
          "[integration][roles]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  const example_stage stage;
  const program_result result = learn(stage, "rollout 0 10", python);
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const training done(result.out);
  CHECK(done.steps == all_steps());
  CHECK(done.trainers.size() == 1);
  CHECK(done.rollouts.size() == 2);
  CHECK_THAT(result.out, contains_text("the reward rose from "));
  CHECK_THAT(result.err, contains_text("rollout replica 0"));
  CHECK_THAT(result.err, contains_text("ended: SIGKILL; restart 1 of 5"));
}

TEST_CASE("roles example: the reward server dies and comes back alone", "[integration][roles]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  const example_stage stage;
  const program_result result = learn(stage, "reward 0 30", python);
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const training done(result.out);
  CHECK(done.steps == all_steps());
  CHECK(done.trainers.size() == 1);
  CHECK(done.rollouts.size() == 1);
  CHECK_THAT(result.err, contains_text("reward replica 0"));
}

void check_trainer_death(const std::string& python) {
  if (python.empty()) return;
  const example_stage stage;
  const program_result result = learn(stage, "trainer 1 10", python);
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const training done(result.out);
  CHECK(done.steps == all_steps());
  CHECK(done.trainers.size() == 2);
  // What the rollouts have in memory is there.
  CHECK(done.rollouts.size() == 1);
  CHECK(done.served >= 60);
  CHECK_THAT(result.err, contains_text("trainer: restarting the workers: restart 1 of 2"));
}

TEST_CASE("roles example: a rank of the trainer dies, and the trainer starts again alone",
          "[integration][roles]") {
  check_trainer_death(elastic::test::torch_python());
}

TEST_CASE("roles example: a rank of the trainer dies with PyTorch 2.13", "[integration][roles]") {
  check_trainer_death(elastic::test::torch_213_python());
}

TEST_CASE("roles example: the trainer starts when the servers accept connections, and a rank dies",
          "[integration][roles]") {
  const std::string python = elastic::test::torch_213_python();
  if (python.empty()) return;
  const example_stage stage;
  const program_result result =
      learn(stage, "trainer 1 10", python,
            {"rollout.readiness=port.http", "reward.readiness=port.http",
             "trainer.starts_after=[\"rollout:ready\", \"reward:ready\"]"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const training done(result.out);
  CHECK(done.steps == all_steps());
  CHECK(done.trainers.size() == 2);
  CHECK(done.rollouts.size() == 1);
  const std::size_t open = std::max(result.err.find("role 'rollout' is ready"),
                                    result.err.find("role 'reward' is ready"));
  CHECK(open < result.err.find("role 'trainer' starts"));
  CHECK_THAT(result.err, contains_text("trainer: restarting the workers: restart 1 of 2"));
}

TEST_CASE("serving example: a replica dies, and the client loses no request",
          "[integration][roles]") {
  const example_stage stage;
  const program_result result = stage.run("serving", "1 20");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, contains_text("300 requests, 300 right answers, "));
  CHECK_THAT(result.err, contains_text("server replica 1"));
  CHECK_THAT(result.err, contains_text("ended: SIGKILL; restart 1 of 10"));
}

}  // namespace role_examples_tests
