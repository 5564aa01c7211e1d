// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// File systems that do not answer: only operations that need them wait, and a stop does not wait at
// all.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/skip.hpp>
#include <support/stalling_mount.hpp>

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace stalled_files_test {

namespace fs = std::filesystem;
using elastic::test::file_text;
using elastic::test::running_program;
using elastic::test::skip;
using elastic::test::stalling_mount;
using words = std::vector<std::string>;

struct stage : elastic::test::elasticrun_stage {
  ~stage() { CHECK(left.processes_become(0)); }

  std::string go() const { return folder / "go"; }
  std::string written() const { return folder / "written"; }

  static void make(const std::string& file) { std::ofstream(file) << "x"; }

  static void await_file(const std::string& file) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!fs::exists(file)) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      std::this_thread::yield();
    }
  }

  /// A job whose logs are on the mount; only the worker of local rank 0 writes to a file.
  running_program begin(const stalling_mount& mount, int workers, const words& acts) const {
    return running_program(
        elasticrun({{"--standalone", "--nproc-per-node", std::to_string(workers), "--log-dir",
                     mount.path() + "/logs", "--tee", "0:3", "--no-python"},
                    {ELASTIC_PUPPET},
                    acts}),
        environment());
  }

  /// The log of local rank 0.
  static std::string log_of(const stalling_mount& mount) {
    for (const auto& entry : fs::directory_iterator(mount.behind() + "/logs")) {
      return file_text(entry.path() / "attempt_0/0/stdout.log");
    }
    return "";
  }
};

TEST_CASE("stalled files: other workers go on, and nothing is lost", "[elasticrun]") {
  if (const std::string why = stalling_mount::missing(); !why.empty()) return skip(why);
  const stage s;
  const stalling_mount mount;
  running_program job =
      s.begin(mount, 2,
              {"line", "ready", "await", s.go() + "${local_rank}", "flood", "1000", "100", "touch",
               s.written() + "${local_rank}", "await", s.go() + "2", "line", "over"});
  job.await_out("ready", 2);
  mount.stall();
  s.make(s.go() + "0");
  s.await_file(s.written() + "0");
  // The agent may hang in the file of one worker; it shows the lines of the other all the same.
  s.make(s.go() + "1");
  job.await_out("\n999 ", 1);
  s.make(s.go() + "2");
  job.await_out("over", 1);
  mount.go_on();
  const auto result = job.wait();
  CHECK(result.code == 0);
  const std::string log = s.log_of(mount);
  CHECK(log.size() == 6 + 1000 * 100 + 5);
  CHECK(log.starts_with("ready\n0 "));
  CHECK(log.ends_with("over\n"));
}

TEST_CASE("stalled files: a job whose logs hang is stopped all the same", "[elasticrun]") {
  if (const std::string why = stalling_mount::missing(); !why.empty()) return skip(why);
  const stage s;
  const stalling_mount mount;
  running_program job = s.begin(
      mount, 1,
      {"line", "ready", "await", s.go(), "flood", "1000", "100", "touch", s.written(), "hang"});
  job.await_out("ready");
  mount.stall();
  s.make(s.go());
  s.await_file(s.written());
  job.signal(SIGTERM);
  job.await_err("stopping the workers");
  job.signal(SIGINT);
  // The workers are gone, and the job is over for the other nodes.
  job.await_err("takes no output, which is lost");
  job.await_err("does not answer");
  CHECK(s.left.processes_become(0));
  // The kernel keeps the process, which has the file open, until it can close it.
  mount.go_on();
  CHECK(job.wait().code == 128 + SIGTERM);
}

TEST_CASE("stalled files: a working directory that hangs costs a report the core file alone",
          "[elasticrun]") {
  if (const std::string why = stalling_mount::missing(); !why.empty()) return skip(why);
  const stage s;
  const stalling_mount mount;
  const std::string act =
      "cd " + s.folder.path() + "; ulimit -c unlimited; echo last words >&2; > " + s.written() +
      "; until [ -e " + s.go() + " ]; do sleep 0.01; done; kill -SEGV $$$$";
  words command = {"/bin/sh", "-c", "cd " + mount.path() + "; exec \"$@\"", "sh"};
  for (const std::string& word :
       s.elasticrun({{"--standalone", "--log-dir", s.logs(), "--redirects", "3", "--no-python"},
                     {"/bin/sh", "-c", act}})) {
    command.push_back(word);
  }
  running_program job(command, s.environment());
  s.await_file(s.written());
  mount.stall();
  s.make(s.go());
  job.await_err("FAILED");
  mount.go_on();
  const auto result = job.wait();
  CHECK(result.code == 1);
  if (result.err.find("core dumped") == std::string::npos) return skip("no core is dumped here");
  CHECK(result.err.find("last words") != std::string::npos);
  CHECK(result.err.find("it is not searched for core files") != std::string::npos);
  CHECK(fs::exists(s.log_root() / "report.json"));
}

TEST_CASE("stalled files: a start that hangs is stopped", "[elasticrun]") {
  if (const std::string why = stalling_mount::missing(); !why.empty()) return skip(why);
  const stage s;
  const stalling_mount mount;
  const std::string program = mount.path() + "/program";
  fs::copy_file(ELASTIC_PUPPET, mount.behind() + "/program");
  running_program job(
      s.elasticrun({{"--standalone", "--nproc-per-node", "2", "--max-restarts", "3", "--no-python"},
                    {program, "line", "ready", "await", s.go(), "exit", "1"}}),
      s.environment({{"LOGLEVEL", "INFO"}}));
  job.await_out("ready", 2);
  mount.stall();
  s.make(s.go());
  job.await_err("restarting the workers");
  job.signal(SIGTERM);
  job.await_err("STOPPED: SIGTERM received");
  // What the kernel keeps in `execve` has its output still.
  mount.go_on();
  CHECK(job.wait().code == 128 + SIGTERM);
}

}  // namespace stalled_files_test
