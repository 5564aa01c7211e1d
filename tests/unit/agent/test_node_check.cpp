// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The command that checks, before each attempt, whether a node is healthy.

#include <elastic/agent/detail/workers/node_checker.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/shell_command.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace node_check_tests {

using namespace std::chrono_literals;
using elastic::exit_status;
using elastic::shell_command;
using elastic::run_result;
using elastic::task;
using elastic::worker_state;
using elastic::detail::judge;
using elastic::detail::node_check_outcome;
using elastic::test::agent_stage;
using elastic::test::fake_process;
using elastic::test::manual_time;
using signals = std::vector<int>;

TEST_CASE("node check: how it went says whether the node is fit", "[agent]") {
  struct row {
    node_check_outcome outcome;
    std::string sentence;
  };
  const auto outcome_of = [](exit_status status, std::string output = {}, bool is_cut = false) {
    return node_check_outcome{"", status, std::move(output), is_cut};
  };
  const std::vector<row> rows = {
      {outcome_of(exit_status::exited(0)), ""},
      {outcome_of(exit_status::exited(0), "GPU 0: ok\n"), ""},
      {outcome_of(exit_status::exited(3)), "the node check failed: exit code 3"},
      {outcome_of(exit_status::exited(127), "sh: 1: smi: not found\n"),
       "the node check failed: exit code 127; it wrote: sh: 1: smi: not found"},
      {outcome_of(exit_status::exited(1), "\n one\r\ntwo \x1b[31m\n\n"),
       "the node check failed: exit code 1; it wrote: one  two \\x1b[31m"},
      {outcome_of(exit_status::exited(1), "end of much", true),
       "the node check failed: exit code 1; it wrote: …end of much"},
      {outcome_of(exit_status::signalled(SIGSEGV)),
       "the node check failed: " + exit_status::signalled(SIGSEGV).text()},
      {{"", std::nullopt, "asking GPU 3", false},
       "the node check did not end within 1.5 s; it wrote: asking GPU 3"},
      {{"no more\nprocesses", std::nullopt, "", false},
       "the node check went wrong: no more processes"},
  };
  shell_command check;
  check.timeout = 1500ms;
  for (const row& entry : rows) {
    INFO(entry.sentence);
    CHECK(judge(check, entry.outcome).value_or("") == entry.sentence);
  }
}

struct check_stage : agent_stage {
  explicit check_stage(manual_time& clock) : agent_stage(clock) {
    workers.max_restarts = 2;
    workers.node_check.command = "nvidia-smi -L";
    workers.node_check.timeout = 10s;
    workers.environment = {{"PATH", "/usr/bin"},
                           {"ELASTIC_CONTROL", "@of-a-launcher-around-this-one"},
                           {"ELASTIC_JOB_SECRET_FILE", "/run/secret"}};
  }
  fake_process& check(std::size_t index) { return *hooks->started.at(index); }

  /// How often the rendezvous was asked for something that is noted with this word.
  int request_count(const std::string& word) const {
    const auto& notes = *rendezvous->notes;
    return static_cast<int>(std::count_if(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.starts_with(word);
    }));
  }
};

TIME_TEST("node check: no worker runs and no round is joined before it has ended well", "[agent]") {
  check_stage stage(time);
  stage.start();
  co_await stage.pass(5s);
  REQUIRE(stage.hooks->started.size() == 1);
  CHECK(stage.check(0).spec.program == "/bin/sh");
  CHECK(stage.check(0).spec.arguments == std::vector<std::string>{"-c", "nvidia-smi -L"});
  CHECK(stage.check(0).spec.environment == std::vector<std::string>{"PATH=/usr/bin"});
  CHECK(stage.launcher->started.empty());
  CHECK(stage.request_count("round") == 0);
  stage.check(0).exit(0);
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 2);
  stage.worker(0).exit(1);
  co_await stage.quiet();
  // Once more before the restart.
  REQUIRE(stage.hooks->started.size() == 2);
  CHECK(stage.launcher->started.size() == 2);
  stage.check(1).exit(0);
  co_await stage.quiet();
  REQUIRE(stage.launcher->started.size() == 4);
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("node check: a node that is not fit takes no part", "[agent]") {
  check_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.check(0).exit(4);
  co_await stage.end();
  const run_result result = stage.result();
  CHECK(result.state == worker_state::failed);
  CHECK(result.left_as_bad);
  CHECK(result.reason == "the node check failed: exit code 4");
  CHECK(stage.launcher->started.empty());
  CHECK(stage.request_count("round") == 0);
  CHECK(stage.request_count("close") == 0);
}

TIME_TEST("node check: a node that is no longer fit leaves, and the job goes on", "[agent]") {
  check_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.check(0).exit(0);
  co_await stage.quiet();
  stage.worker(1).exit(1);
  co_await stage.quiet();
  stage.check(1).end(exit_status::signalled(SIGABRT));
  co_await stage.end();
  CHECK(stage.result().left_as_bad);
  CHECK(stage.launcher->started.size() == 2);
  CHECK(stage.request_count("close") == 0);
}

TIME_TEST("node check: one that does not end in time is killed", "[agent]") {
  check_stage stage(time);
  stage.start();
  co_await stage.pass(9999ms);
  CHECK(stage.check(0).running());
  co_await stage.pass(1ms);
  co_await stage.end();
  CHECK(stage.check(0).signals == signals{SIGKILL});
  CHECK(stage.check(0).tree_ended);
  CHECK(stage.result().reason == "the node check did not end within 10 s");
}

TIME_TEST("node check: one that cannot be started is the node's fault", "[agent]") {
  check_stage stage(time);
  stage.hooks->on_start = [](fake_process&) {
    throw elastic::error(elastic::errc::start_failed, "no more processes");
  };
  stage.start();
  co_await stage.end();
  CHECK(stage.result().reason == "the node check went wrong: no more processes");
}

TIME_TEST("node check: a stop ends it", "[agent]") {
  check_stage stage(time);
  stage.start();
  co_await stage.pass(1s);
  stage.agent().stop({});
  co_await stage.end();
  CHECK(stage.check(0).signals == signals{SIGKILL});
  CHECK(stage.result().state == worker_state::stopped);
  CHECK_FALSE(stage.result().left_as_bad);
}

}  // namespace node_check_tests
