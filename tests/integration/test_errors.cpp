// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <support/bounded_cgroup.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/skip.hpp>
#include <support/text.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {
namespace errors_test {

using elastic::test::contains_text;
using elastic::test::file_text;
using elastic::test::leftovers;
using elastic::test::memory_cgroup;
using elastic::test::program_result;
using elastic::test::run_program;
using elastic::test::skip;
using elastic::test::temporary_directory;
using elastic::test::text_between;

// The report at the end of a failed run, in parts.
struct shown_report {
  std::string others;
  std::string root;
};

shown_report report_in(const std::string& text) {
  INFO(text);
  CHECK_THAT(text, contains_text(" FAILED\n-----"));
  shown_report report;
  report.others = text_between(text, "\nFailures:\n", "-----");
  report.root = text_between(text, "\nRoot Cause (first observed failure):\n", "\n=====") + "\n";
  return report;
}

// Runs a job to its end and checks that nothing of it is left running. The logs that a failed job
// keeps go with the temporary folder that it has for itself.
program_result run_job(int workers, const std::vector<std::string>& program,
                       std::map<std::string, std::string> environment = {},
                       const std::vector<std::string>& options = {}) {
  std::vector<std::string> command = {ELASTIC_ELASTICRUN, "--standalone", "--nproc-per-node",
                                      std::to_string(workers)};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), program.begin(), program.end());
  const leftovers remains;
  const temporary_directory temporary;
  environment[remains.name] = remains.value;
  environment["OMP_NUM_THREADS"] = "1";
  environment["TMPDIR"] = temporary.path();
  const program_result result = run_program(command, environment);
  CHECK(remains.processes().empty());
  return result;
}

// `script` is run by /bin/sh in each worker. It is an argument: `$$` in it becomes `$`.
program_result run_shell_job(int workers, const std::string& script,
                             const std::map<std::string, std::string>& environment = {},
                             const std::vector<std::string>& options = {}) {
  return run_job(workers, {"--no-python", "/bin/sh", "-c", script}, environment, options);
}

// A worker that only ends when it is told to.
const std::string wait_for_the_end = "exec sleep 600";

TEST_CASE("errors: the worker that a signal ended is the root cause, its peers are not blamed",
          "[integration]") {
  const auto [name, number] = GENERATE(std::pair("KILL", 9), std::pair("SEGV", 11));
  const auto result = run_shell_job(
      4, "if [ $RANK = 2 ]; then kill -" + std::string(name) + " $$$$; fi; " + wait_for_the_end);
  CHECK(result.code == 1);
  const shown_report report = report_in(result.err);
  CHECK(report.others == "  <NO_OTHER_FAILURES>\n");
  CHECK_THAT(report.root, contains_text("  rank      : 2 (local_rank: 2)\n"));
  CHECK_THAT(report.root, contains_text("  exitcode  : -" + std::to_string(number) + " (pid: "));
  CHECK_THAT(report.root, contains_text(" (SIG" + std::string(name)));
  CHECK_THAT(report.root, contains_text("  traceback : Signal " + std::to_string(number) + " (SIG" +
                                        name + ") received by PID "));
  CHECK_THAT(report.root, contains_text("Stopped by the agent because of it: rank 0, 1, 3\n"));
}

TEST_CASE("errors: if there is no error file the report shows the last lines of stderr",
          "[integration]") {
  const std::string script =
      "if [ $RANK = 1 ]; then for n in $(seq 30); do echo line $n >&2; done; printf end >&2; "
      "exit 7; fi; " +
      wait_for_the_end;
  const std::vector<std::string> options =
      GENERATE(std::vector<std::string>{}, std::vector<std::string>{"--redirects", "3"},
               std::vector<std::string>{"--tee", "3"});
  const temporary_directory logs;
  std::vector<std::string> with_logs = options;
  with_logs.insert(with_logs.end(), {"--log-dir", logs.path()});
  const auto result = run_shell_job(2, script, {}, with_logs);
  CHECK(result.code == 1);
  const shown_report report = report_in(result.err);
  CHECK_THAT(report.root, contains_text("  exitcode  : 7 (pid: "));
  CHECK_THAT(report.root, contains_text("  error_file: <N/A>\n"));
  CHECK_THAT(report.root, contains_text("    line 12\n"));
  CHECK_THAT(report.root, contains_text("    line 30\n    end\n"));
  CHECK(report.root.find("line 11\n") == std::string::npos);
}

TEST_CASE("errors: what PyTorch's @record leaves is in the report and in the launcher's own file",
          "[integration]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  const temporary_directory directory;
  const std::string script = directory / "raises.py";
  std::ofstream(script) << "import os, time\n"
                           "from torch.distributed.elastic.multiprocessing.errors import record\n"
                           "@record\n"
                           "def main():\n"
                           "    if os.environ['RANK'] == '1':\n"
                           "        raise ValueError('boom on rank 1')\n"
                           "    time.sleep(100)\n"
                           "main()\n";
  const std::string own = directory / "own.json";
  std::ofstream(own) << "left by somebody else";
  const auto result =
      run_job(2, {script}, {{"PYTHON_EXEC", python}, {"TORCHELASTIC_ERROR_FILE", own}},
              {"--log-dir", directory / "logs"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("raises.py FAILED\n"));
  const shown_report report = report_in(result.err);
  CHECK_THAT(report.root, contains_text("  rank      : 1 (local_rank: 1)\n"));
  CHECK_THAT(report.root, contains_text("  exitcode  : 1 (pid: "));
  CHECK_THAT(report.root, contains_text("  error_file: " + (directory / "logs")));
  CHECK_THAT(report.root, contains_text("/attempt_0/1/error.json\n"));
  CHECK_THAT(report.root, contains_text("  traceback : Traceback (most recent call last):\n"));
  CHECK_THAT(report.root, contains_text("  ValueError: boom on rank 1\n"));
  CHECK(report.root.find("its last lines of stderr") == std::string::npos);

  const auto content = nlohmann::json::parse(file_text(own));
  CHECK(content["message"]["message"] == "ValueError: boom on rank 1");
  CHECK(content["message"]["errorCode"] == 1);
}

TEST_CASE("errors: a killed DDP worker is blamed, not the peers that lost their connections to it",
          "[integration]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  const std::string trainer = ELASTIC_SOURCE_DIR "/examples/python/train_ddp.py";
  const temporary_directory logs;
  const auto result = run_job(4, {trainer, "--kill-rank", "1"},
                              {{"PYTHON_EXEC", python}, {"GLOO_SOCKET_IFNAME", "lo"}},
                              {"--redirects", "3", "--log-dir", logs.path()});
  CHECK(result.code == 1);
  const shown_report report = report_in(result.err);
  CHECK_THAT(report.root, contains_text("  rank      : 1 (local_rank: 1)\n"));
  CHECK_THAT(report.root, contains_text(" (SIGKILL)\n"));
}

TEST_CASE("errors: what elastic::record leaves is in the report", "[integration]") {
  const std::string trainer = ELASTIC_BINARY_DIR "/examples/04_worker_side";
  if (!std::filesystem::exists(trainer)) {
    return skip("the examples are not built");
  }
  const auto result = run_job(2, {"--no-python", trainer, "--no-such-option"});
  CHECK(result.code == 1);
  const shown_report report = report_in(result.err);
  CHECK_THAT(report.root, contains_text("  traceback : std::invalid_argument: --no-such-option\n"));
  CHECK_THAT(report.root, contains_text("/error.json\n"));
}

TEST_CASE("errors: an error file that cannot be understood does not hide the failure",
          "[integration]") {
  const auto result = run_shell_job(
      1, "echo '{\"message\": ' > $TORCHELASTIC_ERROR_FILE; echo the reason >&2; exit 3");
  CHECK(result.code == 1);
  const shown_report report = report_in(result.err);
  CHECK_THAT(report.root, contains_text("  exitcode  : 3 (pid: "));
  CHECK_THAT(report.root, contains_text("  traceback : the error file cannot be understood: "));
  CHECK_THAT(report.root, contains_text("    the reason\n"));
}

TEST_CASE("errors: a worker that failed first but was still ending is the root cause",
          "[integration]") {
  const temporary_directory directory;
  const auto result = run_shell_job(
      2,
      "if [ $RANK = 0 ]; then"
      "  echo '{\"message\": \"I was first\", \"timestamp\": '$(date +%s)'}' "
      "    > $TORCHELASTIC_ERROR_FILE;"
      "  echo > $MARK; exec sleep 600; "
      "fi; while [ ! -e $MARK ]; do sleep 0.01; done; echo connection lost >&2; exit 6",
      {{"MARK", directory / "mark"}});
  CHECK(result.code == 1);
  const shown_report report = report_in(result.err);
  CHECK_THAT(report.root, contains_text("  rank      : 0 (local_rank: 0)\n"));
  CHECK_THAT(report.root, contains_text("  traceback : I was first\n"));
  CHECK_THAT(report.others, contains_text("  rank      : 1 (local_rank: 1)\n"));
  CHECK_THAT(report.others, contains_text("  exitcode  : 6 (pid: "));
}

TEST_CASE("errors: a worker that ends by itself when it is told to is not blamed",
          "[integration]") {
  const temporary_directory directory;
  const auto result = run_shell_job(
      2,
      "if [ $RANK = 0 ]; then trap 'exit 0' TERM; echo > $MARK; while :; do sleep 0.01; done; fi; "
      "while [ ! -e $MARK ]; do sleep 0.01; done; exit 6",
      {{"MARK", directory / "mark"}});
  CHECK(result.code == 1);
  const shown_report report = report_in(result.err);
  CHECK(report.others == "  <NO_OTHER_FAILURES>\n");
  CHECK_THAT(report.root, contains_text("  exitcode  : 6 (pid: "));
}

TEST_CASE("errors: a worker that stays in uninterruptible sleep ends the job, if asked to",
          "[integration]") {
  const auto result =
      run_job(1, {"--no-python", ELASTIC_PUPPET, "block"},
              {{"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT", "0.2"}}, {"--max-restarts", "3"});
  INFO(result.err);
  CHECK(result.code == 1);
  const shown_report report = report_in(result.err);
  CHECK_THAT(report.root, contains_text("hung: in uninterruptible sleep for "));
  CHECK_THAT(result.err, contains_text("rank 0 is stuck: in uninterruptible sleep for "));
  CHECK_FALSE(result.err.find("restarting the workers") != std::string::npos);
}

TEST_CASE("errors: a worker that the kernel killed because memory ran out is told apart",
          "[integration][errors]") {
  const memory_cgroup bounded(256 << 20);
  if (!bounded.made) {
    return skip("it takes a memory cgroup");
  }
  // Fills pages until it is killed; the launcher beside it is small.
  const auto run = [&](const std::string& act) {
    return run_program(bounded.command(
        {ELASTIC_ELASTICRUN, "--standalone", "--no-python", "/bin/sh", "-c", act}));
  };
  const program_result greedy = run("exec tail /dev/zero");
  CHECK(greedy.code == 1);
  CHECK_THAT(greedy.err, contains_text("(SIGKILL)"));
  CHECK_THAT(greedy.err, contains_text("reason    : out of memory: "));
  const program_result killed = run("kill -9 $$$$");
  CHECK(killed.code == 1);
  CHECK_THAT(killed.err, contains_text("(SIGKILL)"));
  CHECK(killed.err.find("out of memory") == std::string::npos);
}

/// Whether the kernel writes a core into a folder, or hands it on.
bool dumps_cores(const std::string& folder) {
  const pid_t shell = ::fork();
  if (shell == 0) {
    if (::chdir(folder.c_str()) == 0) {
      ::execl("/bin/sh", "sh", "-c", "ulimit -c unlimited; kill -SEGV $$", nullptr);
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(shell, &status, 0);
  return WIFSIGNALED(status) && WCOREDUMP(status);
}

TEST_CASE("errors: the report names the core file", "[integration][errors]") {
  std::string pattern = file_text("/proc/sys/kernel/core_pattern");
  pattern.erase(pattern.find_last_not_of('\n') + 1);
  const temporary_directory probed;
  if (!dumps_cores(probed.path())) return skip("no core is dumped here: " + pattern);
  const temporary_directory folder;
  const program_result crashed = run_program(
      {"/bin/sh", "-c",
       "cd " + folder.path() + " && exec " + ELASTIC_ELASTICRUN +
           " --standalone --no-python /bin/sh -c 'ulimit -c unlimited; kill -SEGV $$$$'"});
  CHECK(crashed.code == 1);
  CHECK_THAT(crashed.err, contains_text("core dumped"));
  if (pattern.find('/') == std::string::npos && pattern[0] != '|') {
    CHECK_THAT(crashed.err, contains_text("  core      : " + folder.path() + "/" + pattern));
  } else {
    CHECK_THAT(crashed.err, contains_text("  core      : "));
  }
}

TEST_CASE("errors: a failed run leaves its report for programs in the log directory",
          "[integration][errors]") {
  const temporary_directory logs;
  const std::string act = "[ $RANK = 0 ] && exit 3; sleep 99";
  const auto result =
      run_job(2, {"--no-python", "/bin/sh", "-c", act}, {}, {"--log-dir", logs.path()});
  CHECK(result.code == 1);
  std::vector<std::string> runs;
  for (const auto& entry : std::filesystem::directory_iterator(logs.path())) {
    runs.push_back(entry.path());
  }
  REQUIRE(runs.size() == 1);
  const auto report = nlohmann::json::parse(file_text(runs[0] + "/report.json"));
  CHECK(report["state"] == "FAILED");
  CHECK(report["root_cause"] == 0);
  CHECK(report["failures"][0]["end"]["code"] == 3);
  CHECK(report["failures"][1]["stopped_by_agent"] == true);
}

}  // namespace errors_test
}  // namespace
