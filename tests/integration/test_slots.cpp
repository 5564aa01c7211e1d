// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Tasks that a scheduler has started on a node, as the workers of one job.

#include <support/catch.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/task_step.hpp>
#include <support/text.hpp>

#include <signal.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace slots_test {

using elastic::test::comes_true;
using elastic::test::file_text;
using elastic::test::has_text;
using elastic::test::occurrences;
using elastic::test::program_result;
using elastic::test::task_step;
using words = std::vector<std::string>;

/// The process that started another one; the parent of a worker is its guard.
pid_t parent_of(pid_t pid) {
  const std::string text = file_text(fmt::format("/proc/{}/stat", pid));
  const std::size_t after_name = text.rfind(')');
  return after_name == text.npos ? 0 : std::stoi(text.substr(after_name + 4));
}

/// A worker that writes who it is and then runs `rest`.
words shell(const std::string& rest) {
  return {"--no-python", "bash", "-c",
          "echo \"rank $RANK of $WORLD_SIZE, task $SLURM_PROCID, try $TORCHELASTIC_RESTART_COUNT, "
          "process $BASHPID.\"; " +
              rest};
}

words with(words options, const words& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

pid_t process_in(const std::string& line) {
  const std::size_t at = line.rfind("process ");
  return at == line.npos ? 0 : std::stoi(line.substr(at + 8));
}

std::string everything(const std::vector<program_result>& results) {
  std::string text;
  for (const program_result& result : results) text += result.out + result.err;
  return text;
}

/// How often a text stands in what all tasks have written to stderr.
int said(const std::vector<program_result>& results, const std::string& text) {
  int count = 0;
  for (const program_result& result : results) count += occurrences(result.err, text);
  return count;
}

TEST_CASE("slots: the tasks of a step are the workers of one job", "[integration][slots]") {
  task_step step({4});
  step.start(shell("echo \"stderr of $RANK\" >&2; read -r line; echo \"stdin ended: $?\"; exit 0"));
  const auto results = step.wait();
  INFO(everything(results));
  for (int task = 0; task < 4; ++task) {
    const program_result& result = results[static_cast<std::size_t>(task)];
    CHECK(result.code == 0);
    // Each task shows its own worker.
    CHECK(result.out.starts_with(fmt::format("rank {0} of 4, task {0}, try 0, process ", task)));
    CHECK(has_text(result.out, "stdin ended: 1\n"));
    CHECK(has_text(result.err, fmt::format("stderr of {}\n", task)));
  }
  CHECK(said(results,
             "the 4 tasks of this step of Slurm are the workers of one job; with "
             "--standalone, each is a job by itself") == 1);
  CHECK(step.remains.processes().empty());
}

TEST_CASE("slots: each slot is the ancestor of its worker, whatever starts it",
          "[integration][slots]") {
  task_step step({3});
  step.start(
      with({"--max-restarts", "1"}, shell("[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exec sleep 600; "
                                          "[ $RANK = 2 ] && exit 3; exec sleep 600")));
  for (int task = 0; task < 3; ++task) {
    // Its line arrives as a whole, as whatever a worker writes at once.
    step.task(task).await_out("try 1, process ");
    const pid_t worker = process_in(step.task(task).out());
    CHECK(parent_of(parent_of(worker)) == step.task(task).pid());
  }
  step.task(0).signal(SIGTERM);
  for (const program_result& result : step.wait()) CHECK(result.code == 128 + SIGTERM);
  CHECK(step.remains.processes().empty());
}

TEST_CASE("slots: what fails in a slot is reported with its last lines", "[integration][slots]") {
  task_step step({3});
  step.start(shell("[ $RANK = 1 ] || exec sleep 600; echo 'what went wrong' >&2; exit 7"));
  const auto results = step.wait();
  INFO(everything(results));
  for (const program_result& result : results) CHECK(result.code == 1);
  CHECK(has_text(results[1].err, "what went wrong\n"));
  CHECK(has_text(results[0].err, "exit code 7"));
  CHECK(has_text(results[0].err, "what went wrong"));
  CHECK(step.remains.processes().empty());
}

TEST_CASE("slots: a signal to all tasks stops the job once", "[integration][slots]") {
  const int number = GENERATE(SIGTERM, SIGINT, SIGHUP);
  task_step step({4});
  step.environment["LOGLEVEL"] = "INFO";
  step.start(shell(
      "trap 'echo told; exit 0' TERM INT HUP; echo ready; while :; do sleep 600 & wait $!; done"));
  for (int task = 0; task < 4; ++task) step.task(task).await_out("ready\n");
  // A stop during the start kills the workers.
  step.task(0).await_err("round 0: ");
  for (int task = 3; task >= 0; --task) step.task(task).signal(number);
  const auto results = step.wait();
  INFO(everything(results));
  for (const program_result& result : results) {
    CHECK(result.code == 128 + number);
    CHECK(occurrences(result.out, "told\n") == 1);
  }
  CHECK(step.remains.processes().empty());
}

TEST_CASE("slots: signals that the job ignores end no slot", "[integration][slots]") {
  task_step step({3});
  step.environment["LOGLEVEL"] = "INFO";
  step.start(with({"--preempt-signal", "USR1"},
                  shell("trap 'exit 0' TERM; echo ready; while :; do sleep 600 & wait $!; done")));
  for (int task = 0; task < 3; ++task) step.task(task).await_out("ready\n");
  // A stop during the start kills the workers.
  step.task(0).await_err("round 0: ");
  step.task(1).signal(SIGUSR2);
  step.task(2).signal(SIGUSR1);
  step.task(0).signal(SIGUSR1);
  const auto results = step.wait();
  INFO(everything(results));
  for (const program_result& result : results) CHECK(result.code == 128 + SIGTERM);
  CHECK(step.remains.processes().empty());
}

TEST_CASE("slots: the death of a slot is that of its worker, and ends the job of this node",
          "[integration][slots]") {
  task_step step({4});
  step.start(with({"--max-restarts", "3"}, shell("exec sleep 600")));
  for (int task = 0; task < 4; ++task) step.task(task).await_out(".\n");
  const pid_t slot = step.task(2).pid();
  step.task(2).signal(SIGKILL);
  const auto results = step.wait();
  INFO(everything(results));
  CHECK(results[2].code == -SIGKILL);
  for (const int task : {0, 1, 3}) CHECK(results[static_cast<std::size_t>(task)].code == 1);
  CHECK(has_text(results[0].err,
                 fmt::format("task 2 of this node cannot start its worker: its slot, process {}, "
                             "has ended or does not answer",
                             slot)));
  CHECK(step.remains.processes().empty());
}

TEST_CASE("slots: the death of the agent ends all of its slots and their workers",
          "[integration][slots]") {
  task_step step({4});
  step.start(shell("setsid sleep 600 & exec sleep 600"));
  for (int task = 0; task < 4; ++task) step.task(task).await_out(".\n");
  step.task(0).signal(SIGKILL);
  const auto results = step.wait();
  INFO(everything(results));
  CHECK(results[0].code == -SIGKILL);
  for (const int task : {1, 2, 3}) CHECK(results[static_cast<std::size_t>(task)].code == 1);
  CHECK(said(results, "the agent of this node, its task 0, has ended without a result") == 1);
  CHECK(step.remains.processes_become(0));
}

TEST_CASE("slots: the death of all tasks at once leaves nothing", "[integration][slots]") {
  task_step step({4});
  step.start(shell("setsid sleep 600 & exec sleep 600"));
  for (int task = 0; task < 4; ++task) step.task(task).await_out(".\n");
  for (int task = 0; task < 4; ++task) step.task(task).signal(SIGKILL);
  for (const program_result& result : step.wait()) CHECK(result.code == -SIGKILL);
  CHECK(step.remains.processes_become(0));
  // The same step once more, at once.
  step.start(shell("exit 0"));
  for (const program_result& result : step.wait()) CHECK(result.code == 0);
}

TEST_CASE("slots: a slot and the agent that die before they meet end the others",
          "[integration][slots]") {
  task_step step({3});
  const words work = shell("exec sleep 600");
  step.start(0, work);
  step.start(1, work);
  // Task 2 never comes, and somebody ends the step.
  step.task(0).signal(SIGKILL);
  CHECK(step.task(0).wait().code == -SIGKILL);
  step.task(1).signal(SIGTERM);
  const program_result slot = step.task(1).wait();
  INFO(slot.err);
  CHECK(slot.code != 0);
  CHECK(step.remains.processes().empty());
}

/// The processes of the ranks in the last epoch in which all of them were, by rank.
std::map<int, pid_t> last_world(const std::string& story, int size) {
  std::map<int, std::map<int, pid_t>> epochs;
  std::istringstream lines(file_text(story));
  for (std::string line; std::getline(lines, line);) {
    int epoch = 0, rank = 0, world = 0, node = 0, restarts = 0, pid = 0;
    const int read = std::sscanf(line.c_str(), "epoch %d rank %d/%d node %d restarts %d pid %d",
                                 &epoch, &rank, &world, &node, &restarts, &pid);
    if (read == 6 && world == size) epochs[epoch][rank] = pid;
  }
  std::map<int, pid_t> last;
  for (const auto& [epoch, ranks] : epochs) {
    if (ranks.size() == static_cast<std::size_t>(size)) last = ranks;
  }
  return last;
}

TEST_CASE("slots: a worker is replaced in its slot while the others go on",
          "[integration][slots]") {
  task_step step({3});
  const std::string story = step.folder / "story";
  step.environment = {{"OMP_NUM_THREADS", "1"},
                      {"PYTHONPATH", ELASTIC_SOURCE_DIR "/python"},
                      {"STORY", story},
                      {"LEAVE", step.folder / "leave"},
                      {"FINISH", step.folder / "finish"}};
  step.start({"--on-failure", "replace", "--rejoin-timeout", "60", "--max-restarts", "3",
              ELASTIC_SOURCE_DIR "/tests/integration/python/survivor.py"});
  REQUIRE(comes_true([&] { return last_world(story, 3).size() == 3; }));
  const std::map<int, pid_t> before = last_world(story, 3);
  for (const auto& [rank, pid] : before) {
    CHECK(parent_of(parent_of(pid)) == step.task(rank).pid());
  }
  ::kill(before.at(1), SIGKILL);
  REQUIRE(comes_true([&] { return last_world(story, 3).at(1) != before.at(1); }));
  const std::map<int, pid_t> after = last_world(story, 3);
  CHECK(after.at(0) == before.at(0));
  CHECK(after.at(2) == before.at(2));
  CHECK(parent_of(parent_of(after.at(1))) == step.task(1).pid());
  std::ofstream(step.folder / "leave") << "now";
  std::ofstream(step.folder / "finish") << "now";
  for (const program_result& result : step.wait()) {
    INFO(result.err);
    CHECK(result.code == 0);
  }
  CHECK(step.remains.processes_become(0));
}

TEST_CASE("slots: a standby is made in a slot, and becomes its worker with its streams",
          "[integration][slots]") {
  task_step step({2});
  step.environment["LOGLEVEL"] = "INFO";
  const std::string script = step.folder / "train.py";
  const std::string go = step.folder / "go";
  std::ofstream(script) << "import os, sys, time\n"
                           "attempt = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
                           "while attempt == '0' and not os.path.exists(sys.argv[1]):\n"
                           "    time.sleep(0.02)\n"
                           "print(f\"rank {os.environ['RANK']}, try {attempt}, process \"\n"
                           "      f\"{os.getpid()}.\", flush=True)\n"
                           "print('stderr of', os.environ['RANK'], attempt, file=sys.stderr)\n"
                           "if attempt == '0': sys.exit(3)\n"
                           "time.sleep(600)\n";
  step.start({"--warm-standby", "--standby-delay", "0", "--max-restarts", "1", script, go});
  for (const int rank : {0, 1}) {
    step.task(0).await_err(fmt::format("local rank {} has a standby: process ", rank));
  }
  std::ofstream(go) << "go";
  for (const int rank : {0, 1}) {
    step.task(0).await_err(fmt::format("local rank {} starts warm: process ", rank));
    step.task(rank).await_out(fmt::format("rank {}, try 1, process ", rank));
    const pid_t worker = process_in(step.task(rank).out());
    CHECK(parent_of(parent_of(worker)) == step.task(rank).pid());
    step.task(rank).await_err(fmt::format("stderr of {} 1\n", rank));
  }
  step.task(0).signal(SIGTERM);
  for (const program_result& result : step.wait()) CHECK(result.code == 128 + SIGTERM);
  CHECK(step.remains.processes_become(0));
}

TEST_CASE("slots: several nodes, with tasks unevenly spread, are one job", "[integration][slots]") {
  task_step step({3, 1});
  step.start(shell("exit 0"));
  const auto results = step.wait();
  INFO(everything(results));
  for (int task = 0; task < 4; ++task) {
    const program_result& result = results[static_cast<std::size_t>(task)];
    CHECK(result.code == 0);
    CHECK(has_text(result.out, fmt::format("rank {0} of 4, task {0}, ", task)));
  }
  CHECK(said(results, "are the workers of one job") == 1);
  CHECK(said(results, "ranks differ") == 0);
  CHECK(step.remains.processes().empty());
}

TEST_CASE("slots: other numbers of the tasks than ranks are logged once", "[integration][slots]") {
  task_step step({2, 2});
  for (int task = 3; task >= 0; --task) {
    const int number = std::vector<int>{0, 2, 1, 3}[static_cast<std::size_t>(task)];
    step.environment["SLURM_GTIDS"] = task < 2 ? "0,2" : "1,3";
    step.environment["SLURM_PROCID"] = std::to_string(number);
    step.start(task, shell("exit 0"));
  }
  const auto results = step.wait();
  INFO(everything(results));
  for (const program_result& result : results) CHECK(result.code == 0);
  CHECK(has_text(results[1].out, "rank 1 of 4, task 2, "));
  CHECK(said(results, "ranks differ from the scheduler's numbers of the tasks: task 2 has rank") ==
        1);
}

TEST_CASE("slots: --standalone keeps a job for each task", "[integration][slots]") {
  task_step step({3});
  step.start(with({"--standalone"}, shell("exit 0")));
  for (const program_result& result : step.wait()) {
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(has_text(result.out, "rank 0 of 1, "));
    CHECK(result.err.empty());
  }
}

TEST_CASE("slots: the agent shows and keeps what options give to it", "[integration][slots]") {
  task_step step({3});
  const std::string logs = step.folder / "logs";
  step.start(with({"--log-dir", logs, "--tee", "3"}, shell("echo \"stderr of $RANK\" >&2")));
  const auto results = step.wait();
  INFO(everything(results));
  CHECK(results[1].out.empty());
  CHECK(results[2].err.empty());
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(has_text(results[0].out, fmt::format("[default{0}]:rank {0} of 3", rank)));
    CHECK(has_text(results[0].err, fmt::format("[default{0}]:stderr of {0}\n", rank)));
  }
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(logs)) {
    files += entry.path().filename() == "stdout.log" ? 1 : 0;
  }
  CHECK(files == 3);
}

TEST_CASE("slots: equal lines of the slots are merged by the agent", "[integration][slots]") {
  task_step step({3});
  step.start({"--merge-output", "--no-python", "sh", "-c", "echo same; echo same >&2"});
  const auto results = step.wait();
  INFO(everything(results));
  for (const program_result& result : results) CHECK(result.code == 0);
  CHECK(occurrences(results[0].out, "same") == 1);
  CHECK(results[1].out.empty());
  CHECK(results[2].err.empty());
}

TEST_CASE("slots: options that contradict the tasks are refused", "[integration][slots]") {
  task_step step({2});
  const words option = GENERATE(words{"--nproc-per-node", "3"}, words{"--guard", "none"});
  step.start(with(option, shell("exit 0")));
  const auto results = step.wait();
  INFO(everything(results));
  for (const program_result& result : results) CHECK(result.code == 2);
  CHECK(said(results, option[0]) == 1);
}

TEST_CASE("slots: two steps at once do not meet", "[integration][slots]") {
  task_step one({3});
  task_step other({2});
  one.start(shell("exit 0"));
  other.start(shell("exit 0"));
  for (const program_result& result : one.wait()) CHECK(has_text(result.out, " of 3, "));
  for (const program_result& result : other.wait()) CHECK(has_text(result.out, " of 2, "));
}

}  // namespace slots_test
