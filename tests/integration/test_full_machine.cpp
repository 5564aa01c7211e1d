// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Machines on which no further process can start or no further file can be opened, at the start and
// at a restart: one line names the limit, and nothing is left running. A disk without room for log
// files costs a restart those files, and nothing else.

#include <support/bounded_cgroup.hpp>
#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/skip.hpp>
#include <support/small_disk.hpp>
#include <support/text.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace full_machine_test {

using elastic::test::contains_text;
using elastic::test::occurrences;
using elastic::test::process_cgroup;
using elastic::test::program_result;
using elastic::test::running_program;
using words = std::vector<std::string>;

constexpr int workers = 4;

struct stage : elastic::test::elasticrun_stage {
  /// @param work  what each worker does, by /bin/sh
  static words command(const std::string& work, const std::string& guard = "required") {
    return elasticrun({{"--standalone", "--nproc-per-node", std::to_string(workers),
                        "--max-restarts", "1", "--guard", guard, "--no-python"},
                       {"/bin/sh", "-c", work}});
  }
};

// Prints its pid, and waits. `$$$$` is `$$` in an argument.
const std::string say_and_wait = "echo attempt $TORCHELASTIC_RESTART_COUNT of $$$$; exec sleep 600";

/// The process of one worker that has printed its pid.
pid_t some_worker(const running_program& job) {
  return std::stoi(elastic::test::text_between(job.out(), "attempt 0 of ", "\n"));
}

/// How a job ends that can no longer start a process.
void check_end(const stage& here, const program_result& result, const std::string& limit) {
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  CHECK(occurrences(result.err, limit) == 1);
  CHECK(here.left.processes().empty());
  CHECK(here.left.processes_become(0));
}

TEST_CASE("full machine: a cgroup without room for all workers is named, and nothing is left",
          "[integration][full-machine]") {
  const stage here;
  const process_cgroup full(100);
  if (!full.made) return elastic::test::skip("it takes a cgroup of processes");
  int failed = 0;
  int succeeded = 0;
  for (const std::string guard : {"required", "none"}) {
    // The agent alone, and so on to all of them.
    for (int room = 1; room <= 2 * workers + 4; ++room) {
      full.limit(room);
      const program_result result =
          here.run_command(full.command(stage::command("exit 0", guard)));
      INFO("guard " << guard << ", room for " << room << ": " << result.err);
      if (result.code == 0) {
        ++succeeded;
        continue;
      }
      ++failed;
      CHECK(result.code == 1);
      const std::string limit =
          fmt::format("(a new process); the cgroup /elastic_test_{} may have {} processes and "
                      "threads (pids.max)\n",
                      ::getpid(), room);
      CHECK(occurrences(result.err, "cannot be started: Resource temporarily unavailable") == 1);
      CHECK(occurrences(result.err, limit) == 1);
    }
  }
  CHECK(failed > 2);
  CHECK(succeeded > 2);
}

TEST_CASE("full machine: a cgroup that is full at a restart ends the job, and nothing is left",
          "[integration][full-machine]") {
  for (const std::string guard : {"required", "none"}) {
    INFO("guard " << guard);
    const stage here;
    const process_cgroup full(100);
    if (!full.made) return elastic::test::skip("it takes a cgroup of processes");
    running_program job(full.command(stage::command(say_and_wait, guard)), here.environment());
    job.await_out("attempt 0 of ", workers);
    full.limit(1);
    REQUIRE(::kill(some_worker(job), SIGKILL) == 0);
    const program_result result = job.wait();
    check_end(here, result, "may have 1 processes and threads (pids.max)\n");
    CHECK_THAT(result.err, contains_text("restart 1 of 1"));
    CHECK(occurrences(result.out, "attempt 1") == 0);
  }
}

TEST_CASE("full machine: an agent that may open too few files says so, and leaves nothing",
          "[integration][full-machine]") {
  const stage here;
  int failed = 0;
  int succeeded = 0;
  for (int files = 8; files <= 80; files += 3) {
    words command{"/bin/sh", "-c", fmt::format("ulimit -n {}; exec \"$@\"", files), "sh"};
    for (const std::string& word : stage::command("exit 0", "best-effort")) command.push_back(word);
    const program_result result = here.run_command(command);
    INFO(files << " files: " << result.err);
    if (result.code == 0) {
      ++succeeded;
      continue;
    }
    ++failed;
    CHECK(result.code == 1);
    CHECK_THAT(result.err, contains_text("Too many open files"));
    CHECK(occurrences(result.err, "elasticrun: error: ") == 1);
  }
  CHECK(failed > 2);
  CHECK(succeeded > 2);
}

TEST_CASE("full machine: an agent that may open no more files at a restart ends the job",
          "[integration][full-machine]") {
  for (const std::string guard : {"required", "none"}) {
    INFO("guard " << guard);
    const stage here;
    running_program job(stage::command(say_and_wait, guard), here.environment());
    job.await_out("attempt 0 of ", workers);
    // Its open files stay open.
    constexpr rlimit few{4, 4};
    REQUIRE(::prlimit(job.pid(), RLIMIT_NOFILE, &few, nullptr) == 0);
    REQUIRE(::kill(some_worker(job), SIGKILL) == 0);
    const program_result result = job.wait();
    check_end(here, result, "Too many open files");
    CHECK(occurrences(result.out, "attempt 1") == 0);
  }
}

// ---- a full disk -------------------------------------------------------------------------------

/// A job of two workers that keeps its logs on a disk of its own.
///
/// @param work  what each worker does in `sh`; the disk is its working directory
program_result run_on(const elastic::test::small_disk& disk, const stage& here,
                      const words& options, const std::string& work) {
  const std::string place = disk.folder.path();
  return here.run_command(stage::elasticrun(
      {{"--standalone", "--nproc-per-node", "2", "--max-restarts", "1", "--log-dir", place},
       options,
       {"--no-python", "sh", "-c", "cd " + place + " && " + work}}));
}

const std::string fail_once = "echo attempt $TORCHELASTIC_RESTART_COUNT >&2; "
                              "exit $((1 - $TORCHELASTIC_RESTART_COUNT))";

TEST_CASE("full machine: a restart on a full disk goes on without log files, and shows the output",
          "[integration][full-machine]") {
  const std::string fill = "head -c 200000 /dev/zero > filler 2> /dev/null; ";
  const std::string use_up = "i=0; while ( : > more$RANK.$i ) 2> /dev/null; do i=$((i+1)); done; ";
  for (const auto& [limits, eat] : {std::pair<const char*, std::string>{"size=64k", fill},
                                    {"nr_inodes=40", use_up}}) {
    INFO(limits);
    const stage here;
    const elastic::test::small_disk disk(limits);
    if (!disk.is_there) return elastic::test::skip("it takes the right to mount a file system");
    const bool makes_directories = limits == std::string("size=64k");
    const program_result result = run_on(disk, here, {"--redirects", "3"}, eat + fail_once);
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(occurrences(result.err, "has no log files") == (makes_directories ? 0 : 1));
    CHECK(occurrences(result.err, "attempt 1\n") == (makes_directories ? 0 : 2));
  }
}

TEST_CASE("full machine: a job that writes no file restarts on a full disk as on any other",
          "[integration][full-machine]") {
  const stage here;
  const elastic::test::small_disk disk("nr_inodes=20");
  if (!disk.is_there) return elastic::test::skip("it takes the right to mount a file system");
  const program_result result =
      run_on(disk, here, {}, "i=0; while ( : > more$RANK.$i ) 2> /dev/null; do i=$((i+1)); done; " +
                                 fail_once);
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(occurrences(result.err, "attempt 1\n") == 2);
}

TEST_CASE("full machine: a disk that is full before workers have run is an error of usage",
          "[integration][full-machine]") {
  const stage here;
  const elastic::test::small_disk disk("nr_inodes=2");
  if (!disk.is_there) return elastic::test::skip("it takes the right to mount a file system");
  const program_result result = run_on(disk, here, {}, "exit 0");
  CHECK(result.code == 2);
  CHECK_THAT(result.err, contains_text("No space left on device"));
}

TEST_CASE("full machine: restarts that write nothing leave no directory",
          "[integration][full-machine]") {
  const stage here;
  const program_result result = here.run_command(stage::elasticrun(
      {{"--standalone", "--nproc-per-node", "2", "--max-restarts", "5", "--log-dir", here.logs(),
        "--no-python", "false"}}));
  CHECK(result.code == 1);
  words left;
  for (const auto& entry : std::filesystem::directory_iterator(here.log_root())) {
    left.push_back(entry.path().filename());
  }
  std::sort(left.begin(), left.end());
  CHECK(left == words{"journal.jsonl", "report.json"});
}

TEST_CASE("full machine: the report of a worker whose log files fill the disk says so",
          "[integration][full-machine]") {
  const stage here;
  const elastic::test::small_disk disk("size=64k");
  if (!disk.is_there) return elastic::test::skip("it takes the right to mount a file system");
  const program_result result =
      run_on(disk, here, {"--redirects", "1", "--max-restarts", "0"},
             "exec 2> /dev/null; head -c 200000 /dev/zero || exit 1");
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, contains_text("  reason    : the disk of its log file '" +
                                       disk.folder.path()));
  CHECK_THAT(result.err, contains_text("stdout.log' is full: "));
}

}  // namespace full_machine_test

}  // namespace
