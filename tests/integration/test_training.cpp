// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/skip.hpp>

#include <cmath>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

using elastic::test::file_text;
using elastic::test::leftovers;
using elastic::test::program_result;
using elastic::test::temporary_directory;

constexpr int last_epoch = 4;
constexpr int killed_epoch = 2;  // both trainers' own choice

// The output of one worker in one attempt.
struct training_log {
  std::map<int, std::string> checksums;  // by epoch, as printed
  int resumed_from = 0;
  std::string finished;
};

training_log parse_training_log(const std::string& text) {
  static const std::regex epoch(R"(\[rank \d+\] epoch (\d+): loss \S+, checksum (\S+))");
  static const std::regex resumed(R"(\[rank \d+\] resuming from epoch (\d+))");
  static const std::regex finished(R"(\[rank \d+\] finished: checksum (\S+))");
  training_log log;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, epoch)) log.checksums[std::stoi(match[1])] = match[2];
    if (std::regex_match(line, match, resumed)) log.resumed_from = std::stoi(match[1]);
    if (std::regex_match(line, match, finished)) log.finished = match[1];
  }
  return log;
}

// Runs a program to its end and checks that nothing of it is left running.
program_result run_whole(const std::vector<std::string>& command,
                         std::map<std::string, std::string> environment) {
  const leftovers remains;
  environment[remains.name] = remains.value;
  const program_result result = elastic::test::run_program(command, environment);
  CHECK(remains.processes().empty());
  return result;
}

// A job of several workers, one of which is killed in the middle of attempt 0.
struct disturbed_job {
  program_result result;
  std::vector<std::vector<training_log>> attempts;  // by attempt and rank
};

disturbed_job run_disturbed_job(const std::vector<std::string>& trainer, int workers,
                                const std::map<std::string, std::string>& environment) {
  const temporary_directory directory;
  std::vector<std::string> command = {ELASTIC_ELASTICRUN, "--standalone",
                                      "--nproc-per-node", std::to_string(workers),
                                      "--max-restarts",   "2",
                                      "--log-dir",        directory / "logs",
                                      "--redirects",      "3"};
  command.insert(command.end(), trainer.begin(), trainer.end());
  for (const std::string& word : {std::string("--checkpoint"), directory / "checkpoint",
                                  std::string("--kill-rank"), std::to_string(workers - 1)}) {
    command.push_back(word);
  }
  disturbed_job job;
  job.result = run_whole(command, environment);
  for (const auto& run : std::filesystem::directory_iterator(directory / "logs")) {
    for (int attempt = 0;; ++attempt) {
      const auto folder = run.path() / ("attempt_" + std::to_string(attempt));
      if (!std::filesystem::exists(folder)) break;
      std::vector<training_log> logs;
      for (int rank = 0; rank < workers; ++rank) {
        logs.push_back(parse_training_log(file_text(folder / std::to_string(rank) / "stdout.log")));
        INFO("attempt " << attempt << ", rank " << rank << ", stderr:\n"
                        << file_text(folder / std::to_string(rank) / "stderr.log"));
        if (attempt > 0) CHECK_FALSE(logs.back().finished.empty());
      }
      job.attempts.push_back(logs);
    }
  }
  return job;
}

void check_that_training_is_data_parallel(const std::vector<std::string>& alone,
                                          const std::vector<std::string>& trainer, int workers,
                                          std::map<std::string, std::string> environment) {
  environment["OMP_NUM_THREADS"] = "1";
  const program_result undisturbed = run_whole(alone, environment);
  INFO(undisturbed.err);
  REQUIRE(undisturbed.code == 0);
  const training_log expected = parse_training_log(undisturbed.out);
  REQUIRE(expected.checksums.size() == last_epoch + 1);

  const disturbed_job job = run_disturbed_job(trainer, workers, environment);
  INFO(job.result.out << job.result.err);
  CHECK(job.result.code == 0);
  REQUIRE(job.attempts.size() == 2);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto& ranks = job.attempts[attempt];
    for (const training_log& log : ranks) {
      // Every worker, the one that died too, has the whole of what its attempt completed.
      const int begin = attempt == 0 ? 0 : killed_epoch;
      const int end = attempt == 0 ? killed_epoch : last_epoch + 1;
      CHECK(log.resumed_from == begin);
      CHECK(log.checksums.size() == static_cast<std::size_t>(end - begin));
      for (const auto& [epoch, checksum] : log.checksums) {
        CHECK(epoch >= begin);
        CHECK(epoch < end);
        CHECK(checksum == ranks[0].checksums.at(epoch));
        CHECK(std::abs(std::stod(checksum) - std::stod(expected.checksums.at(epoch))) < 1e-6);
      }
    }
  }
  for (const training_log& log : job.attempts[1]) {
    REQUIRE_FALSE(log.finished.empty());
    CHECK(std::abs(std::stod(log.finished) - std::stod(expected.finished)) < 1e-6);
  }
}

TEST_CASE("training: PyTorch DDP loses a worker, resumes and ends as if nothing had happened",
          "[integration]") {
  const bool is_2_13 = GENERATE(false, true);
  const std::string python =
      is_2_13 ? elastic::test::torch_213_python() : elastic::test::torch_python();
  if (python.empty()) return;
  const std::string script = ELASTIC_SOURCE_DIR "/examples/python/train_ddp.py";
  std::map<std::string, std::string> environment = {{"PYTHON_EXEC", python},
                                                    {"GLOO_SOCKET_IFNAME", "lo"}};
  SECTION("through the agent's store") {
    check_that_training_is_data_parallel({python, script}, {script}, 2, environment);
  }
  SECTION("with the store served by the worker of rank 0") {
    environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
    check_that_training_is_data_parallel({python, script}, {script}, 2, environment);
  }
}

TEST_CASE("training: the C++ trainer loses a worker, resumes and ends as if nothing had happened",
          "[integration]") {
  const std::string trainer = ELASTIC_BINARY_DIR "/examples/04_worker_side";
  if (!std::filesystem::exists(trainer)) {
    return elastic::test::skip("the examples are not built");
  }
  const int workers = GENERATE(2, 3, 8);
  check_that_training_is_data_parallel({trainer}, {"--no-python", trainer}, workers, {});
}

}  // namespace
