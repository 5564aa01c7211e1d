// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Whom the signal that stops the workers reaches: them alone, or what they have started, too.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace stop_signals_tests {

using elastic::test::file_text;
using elastic::test::occurrences;
using elastic::test::program_result;
using elastic::test::running_program;
using words = std::vector<std::string>;

const std::string worker_script = ELASTIC_SOURCE_DIR "/tests/integration/python/stopped_worker.py";

struct stage : elastic::test::elasticrun_stage {
  /// What a worker saves if it has had its loader until it was done.
  static constexpr const char* checkpoint = "1275";

  words python(const std::string& what) const { return {worker_script, what, folder.path()}; }

  /// Runs a job of one worker that says "ready" when it can be stopped, and stops it with SIGTERM.
  program_result stop(const words& options, const words& worker) const {
    running_program job(elasticrun({{"--standalone"}, options, worker}), told());
    job.await_out("ready");
    // A stop during the start kills the workers.
    job.await_err("round 0: ");
    job.signal(SIGTERM);
    program_result result = job.wait();
    INFO(result.out << result.err);
    CHECK(result.code == 128 + SIGTERM);
    CHECK(left.processes().empty());
    return result;
  }

  bool has(const std::string& name) const { return std::filesystem::exists(folder / name); }

  /// The environment of an agent that tells when it has started its workers.
  variables told() const { return environment({{"LOGLEVEL", "INFO"}}); }
};

TEST_CASE("stop signal: a worker has its data loaders until its checkpoint is saved",
          "[integration][elasticrun]") {
  const std::string guard = GENERATE("best-effort", "none");
  for (const words& more : {words(), words{"--preempt-grace", "600"}}) {
    const stage here;
    words options{"--shutdown-timeout", "1000", "--guard", guard};
    options.insert(options.end(), more.begin(), more.end());
    here.stop(options, here.python("save"));
    CHECK(file_text(here.folder / "checkpoint") == stage::checkpoint);
  }
}

TEST_CASE("stop signal: the scope group reaches what a worker has started at once",
          "[integration][elasticrun]") {
  const std::string guard = GENERATE("best-effort", "none");
  const stage here;
  // Were it sent after half of the time, the test would take hours.
  const program_result result =
      here.stop({"--shutdown-timeout", "20000", "--guard", guard, "--signal-scope", "group"},
                here.python("share"));
  CHECK(occurrences(result.out, "got SIGTERM 1 times") == 1);
}

TEST_CASE("stop signal: after half of the time it reaches what a worker has started, nobody twice",
          "[integration][elasticrun]") {
  const std::string guard = GENERATE("best-effort", "none");
  const stage here;
  const program_result result =
      here.stop({"--shutdown-timeout", "20", "--guard", guard}, here.python("share"));
  CHECK(occurrences(result.out, "got SIGTERM 1 times") == 1);
}

TEST_CASE("stop signal: a shell that does not pass it on ends with what it runs",
          "[integration][elasticrun]") {
  const std::string guard = GENERATE("best-effort", "none");
  const stage here;
  // It runs its trap when the program has ended. That it is not killed meanwhile shows that the
  // program has got the signal.
  const std::string script = fmt::format(
      "trap 'touch {0}/trapped' TERM; {1} on 15 exit 0 line ready hang; touch {0}/ended",
      here.folder.path(), ELASTIC_PUPPET);
  here.stop({"--shutdown-timeout", "20", "--guard", guard, "--no-python"}, {"bash", "-c", script});
  CHECK(here.has("trapped"));
  CHECK(here.has("ended"));
}

TEST_CASE("stop signal: each role has its scope, with a world and without",
          "[integration][roles]") {
  const stage here;
  const std::string text = fmt::format(R"(
shutdown_timeout = 1000
[role.world]
command = ["{0}", "save", "{1}/world"]
readiness = "start"
[role.replicas]
command = ["{0}", "save", "{1}/replicas"]
processes_per_node = 1
readiness = "start"
[role.all]
command = ["{0}", "share", "{1}/all"]
readiness = "start"
signal_scope = "group"
[role.both]
command = ["{0}", "share", "{1}/both"]
processes_per_node = 1
readiness = "start"
signal_scope = "group"
)",
                                       worker_script, here.folder.path());
  for (const char* const name : {"world", "replicas", "all", "both"}) {
    std::filesystem::create_directory(here.folder / name);
  }
  std::ofstream(here.folder / "job.toml") << text;
  running_program job(stage::elasticrun({{"--job", here.folder / "job.toml"}}),
                      here.told());
  job.await_out("ready", 4);
  for (const char* const name : {"world", "replicas", "all", "both"}) {
    job.await_err(fmt::format("role '{}' is ready", name));
  }
  job.signal(SIGTERM);
  const program_result result = job.wait();
  INFO(result.out << result.err);
  CHECK(result.code == 128 + SIGTERM);
  CHECK(file_text(here.folder / "world/checkpoint") == stage::checkpoint);
  CHECK(file_text(here.folder / "replicas/checkpoint") == stage::checkpoint);
  CHECK(occurrences(result.out, "got SIGTERM 1 times") == 2);
}

}  // namespace stop_signals_tests
