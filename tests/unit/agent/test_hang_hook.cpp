// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The hook that inspects hung workers before any worker is killed because of them.

#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/shell_command.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/error.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace hang_hook_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::exit_status;
using elastic::log_level;
using elastic::run_result;
using elastic::shell_command;
using elastic::stop_request;
using elastic::task;
using elastic::worker_spec;
using elastic::worker_state;
using elastic::test::agent_stage;
using elastic::test::channel_peer;
using elastic::test::fake_process;
using elastic::test::manual_time;
using signals = std::vector<int>;

/// Two workers, of which each may be made hung by a timer, and a hook.
struct hook_stage : agent_stage {
  explicit hook_stage(manual_time& clock) : agent_stage(clock) {
    workers.max_restarts = 1;
    workers.hang_hook.command = "py-spy dump -p $ELASTIC_HUNG_PID";
    workers.hang_hook.timeout = 10s;
    workers.environment["PATH"] = "/usr/bin";
  }

  /// From then on a worker is hung.
  void expire(std::size_t index, double seconds) {
    channel_peer peer(worker(index).variable("ELASTIC_CONTROL"), worker(index).local_rank());
    peer.say(fmt::format(R"({{"kind":"expires","timer":"step","after":{}}})", seconds));
  }
  fake_process& hook(std::size_t index) { return *hooks->started.at(index); }

  /// Lets so much time go by, and happen what is due then.
  task<void> pass(duration span) {
    co_await agent_stage::pass(span);
    co_await quiet();
  }

  /// Lets the workers of the second attempt succeed.
  task<void> succeed() {
    REQUIRE(launcher->started.size() == 4);
    worker(2).exit(0);
    worker(3).exit(0);
    co_await end();
    CHECK(result().state == worker_state::succeeded);
    CHECK(is_clean());
  }
};

TIME_TEST("hang hook: it runs before any worker is signalled, and knows which is hung", "[agent]") {
  hook_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.expire(1, 2);
  co_await stage.pass(2s);
  REQUIRE(stage.hooks->started.size() == 1);
  fake_process& hook = stage.hook(0);
  CHECK(hook.spec.program == "/bin/sh");
  CHECK(hook.spec.arguments == std::vector<std::string>{"-c", "py-spy dump -p $ELASTIC_HUNG_PID"});
  CHECK(hook.variable("ELASTIC_HUNG_RANK") == "1");
  CHECK(hook.variable("ELASTIC_HUNG_LOCAL_RANK") == "1");
  CHECK(hook.variable("ELASTIC_HUNG_PID") == "1001");
  CHECK(hook.variable("ELASTIC_HUNG_REASON") == "timer 'step' expired after 2 s");
  CHECK(hook.variable("ELASTIC_HUNG_LOG_DIR") == "");
  CHECK(hook.variable("PATH") == "/usr/bin");
  CHECK(hook.variable("ELASTIC_CONTROL") == "<not set>");
  co_await stage.pass(9s);
  CHECK(stage.worker(1).signals.empty());
  CHECK(stage.worker(0).signals.empty());
  hook.exit(0);
  co_await stage.quiet();
  CHECK(stage.worker(1).signals == signals{SIGKILL});
  CHECK(stage.worker(0).signals == signals{SIGTERM});
  CHECK(stage.log->has("the hang hook of rank 1 has ended"));
  co_await stage.succeed();
}

TIME_TEST("hang hook: at its deadline it is killed, and then the worker", "[agent]") {
  hook_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.expire(1, 2);
  co_await stage.pass(2s + 9999ms);
  CHECK(stage.hook(0).signals.empty());
  CHECK(stage.worker(1).signals.empty());
  co_await stage.pass(1ms);
  CHECK(stage.hook(0).signals == signals{SIGKILL});
  CHECK(stage.worker(1).signals == signals{SIGKILL});
  CHECK(stage.log->has("the hang hook of rank 1 did not end within 10 s and is killed",
                       log_level::warning));
  co_await stage.succeed();
}

TIME_TEST("hang hook: what cannot be killed does not keep the worker alive", "[agent]") {
  hook_stage stage(time);
  stage.hooks->on_start = [](fake_process& hook) { hook.on_kill = fake_process::ignore_all(); };
  stage.start();
  co_await stage.quiet();
  stage.expire(1, 2);
  co_await stage.pass(12s);
  CHECK(stage.worker(1).signals == signals{SIGKILL});
  CHECK(stage.worker(0).signals == signals{SIGTERM});
  stage.hook(0).end(exit_status::signalled(SIGKILL));
  co_await stage.quiet();
  co_await stage.succeed();
}

TIME_TEST("hang hook: one that fails is a warning", "[agent]") {
  hook_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.expire(0, 2);
  co_await stage.pass(2s);
  stage.hook(0).exit(3);
  co_await stage.quiet();
  CHECK(stage.log->has("the hang hook of rank 0 failed: exit code 3", log_level::warning));
  CHECK(stage.worker(0).signals == signals{SIGKILL});
  co_await stage.succeed();
}

TIME_TEST("hang hook: one that cannot be started is a warning", "[agent]") {
  hook_stage stage(time);
  stage.hooks->on_start = [](fake_process&) {
    throw elastic::error(elastic::errc::start_failed, "no more processes");
  };
  stage.start();
  co_await stage.quiet();
  stage.expire(0, 2);
  co_await stage.pass(2s);
  CHECK(stage.log->has("the hang hook of rank 0 cannot be started: no more processes",
                       log_level::warning));
  CHECK(stage.worker(0).signals == signals{SIGKILL});
  co_await stage.succeed();
}

TIME_TEST("hang hook: workers that hang meanwhile have theirs, all within the time of one",
          "[agent]") {
  hook_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.expire(1, 2);
  stage.expire(0, 5);
  co_await stage.pass(5s);
  REQUIRE(stage.hooks->started.size() == 2);
  stage.hook(0).exit(0);
  co_await stage.pass(6999ms);
  CHECK(stage.worker(1).signals.empty());
  co_await stage.pass(1ms);
  CHECK(stage.hook(1).signals == signals{SIGKILL});
  CHECK(stage.worker(1).signals == signals{SIGKILL});
  CHECK(stage.worker(0).signals.front() == SIGKILL);
  co_await stage.succeed();
}

TIME_TEST("hang hook: each of several hung workers is reported as hung", "[agent]") {
  hook_stage stage(time);
  stage.workers.max_restarts = 0;
  stage.start();
  co_await stage.quiet();
  stage.expire(0, 2);
  stage.expire(1, 2);
  co_await stage.pass(2s);
  REQUIRE(stage.hooks->started.size() == 2);
  stage.hook(0).exit(0);
  stage.hook(1).exit(0);
  co_await stage.end();
  const run_result result = stage.result();
  REQUIRE(result.failures.size() == 2);
  for (const elastic::run_result::failure& failure : result.failures) {
    CHECK(failure.hung == "timer 'step' expired after 2 s");
    CHECK_FALSE(failure.stopped_by_agent);
  }
}

TIME_TEST("hang hook: a stop request kills it at once", "[agent]") {
  hook_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.expire(1, 2);
  co_await stage.pass(3s);
  stop_request request;
  request.signal = SIGINT;
  stage.agent().stop(request);
  co_await stage.quiet();
  CHECK(stage.ended());
  CHECK(stage.hook(0).signals == signals{SIGKILL});
  CHECK(stage.worker(0).signals == signals{SIGINT});
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.is_clean());
}

TIME_TEST("hang hook: a cancellation kills it at once", "[agent]") {
  for (const auto kind : {asio::cancellation_type::partial, asio::cancellation_type::terminal}) {
    hook_stage stage(time);
    stage.start();
    co_await stage.quiet();
    stage.expire(1, 2);
    co_await stage.pass(3s);
    stage.cancel.emit(kind);
    co_await stage.quiet();
    CHECK(stage.ended());
    CHECK(stage.was_cancelled());
    CHECK(stage.hook(0).signals == signals{SIGKILL});
    CHECK(stage.is_clean());
  }
}

TIME_TEST("hang hook: a worker that fails meanwhile has the others wait for it", "[agent]") {
  hook_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.expire(1, 2);
  co_await stage.pass(3s);
  stage.worker(0).exit(7);
  co_await stage.pass(1s);
  CHECK(stage.worker(1).signals.empty());
  stage.hook(0).exit(0);
  co_await stage.quiet();
  CHECK(stage.worker(1).signals.front() == SIGKILL);
  co_await stage.succeed();
}

TIME_TEST("hang hook: it goes on while the others wait for this node, and no longer", "[agent]") {
  hook_stage stage(time);
  stage.rendezvous->what.grace = 4s;
  stage.launcher->on_start = [](fake_process& worker) {
    if (worker.index < 2) worker.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  stage.expire(1, 2);
  co_await stage.pass(3s);
  stage.rendezvous->change();
  co_await stage.pass(3999ms);
  CHECK(stage.hook(0).signals.empty());
  CHECK(stage.worker(0).signals.empty());
  co_await stage.pass(1ms);
  CHECK(stage.hook(0).signals == signals{SIGKILL});
  // Nothing is left of their grace.
  CHECK(stage.worker(0).signals.back() == SIGKILL);
  CHECK(stage.worker(1).signals.front() == SIGKILL);
  co_await stage.succeed();
}

TIME_TEST("hang hook: none is run for who hangs while it is being stopped", "[agent]") {
  hook_stage stage(time);
  stage.launcher->on_start = [](fake_process& worker) {
    worker.on_signal = fake_process::ignore_all();
  };
  stage.start();
  co_await stage.quiet();
  stage.expire(1, 2);
  stage.agent().stop({});
  co_await stage.pass(3s);
  CHECK(stage.hooks->started.empty());
  CHECK(stage.worker(1).signals.back() == SIGKILL);
  co_await stage.end();
  CHECK(stage.is_clean());
}

TEST_CASE("worker_spec: a command of the user that is out of bounds is refused", "[agent]") {
  struct row {
    std::string command;
    duration timeout;
    std::string refusal;  // empty: it is allowed
  };
  const std::vector<row> rows = {
      {"", 10s, ""},
      {"true", 1h, ""},
      {std::string("a\0b", 3), 10s, "the command has a zero byte in it"},
      {"true", 0s, "the timeout is 0 s: more than 0 and at most 3600 s are allowed"},
      {"true", -1s, "the timeout is -1 s: more than 0 and at most 3600 s are allowed"},
      {"true", 3601s, "the timeout is 3601 s: more than 0 and at most 3600 s are allowed"},
  };
  const std::map<std::string, shell_command worker_spec::*> commands = {
      {"hang_hook", &worker_spec::hang_hook}, {"node_check", &worker_spec::node_check}};
  for (const auto& [name, member] : commands) {
    for (const row& entry : rows) {
      INFO(name << ": " << entry.refusal);
      worker_spec spec;
      spec.program = "worker";
      spec.*member = {entry.command, entry.timeout};
      std::string refusal;
      try {
        validate(spec);
      } catch (const elastic::error& problem) {
        CHECK(problem.code() == elastic::errc::invalid_argument);
        refusal = problem.what();
      }
      const std::string expected = "worker_spec::" + name + ": " + entry.refusal;
      CHECK(refusal == (entry.refusal.empty() ? "" : expected));
    }
  }
}

}  // namespace hang_hook_tests
