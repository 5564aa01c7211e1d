// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/concurrent_run.hpp>

#include <support/agent_stage.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace local_agent_cancellation_tests {

using namespace std::chrono_literals;
using asio::cancellation_type;
using elastic::local_agent;
using elastic::run_result;
using elastic::task;
using elastic::worker_state;
using elastic::test::agent_stage;
using elastic::test::fake_process;

/// A way of cancelling, and whether it leaves the workers their grace.
struct request {
  const char* name;
  cancellation_type type;
  bool is_graceful;
};

// The gentlest type counts: the loser of a race gets all of them.
const std::vector<request> requests{
    {"partial", cancellation_type::partial, true},
    {"total", cancellation_type::total, true},
    {"partial and total", cancellation_type::partial | cancellation_type::total, true},
    {"all", cancellation_type::all, true},
    {"terminal and total", cancellation_type::terminal | cancellation_type::total, true},
    {"terminal", cancellation_type::terminal, false},
};

/// Whether the run ended with `operation_aborted` and left nothing.
bool was_cancelled_cleanly(const agent_stage& stage) {
  return stage.ended() && stage.was_cancelled() && stage.is_clean();
}

void ignore_signals(agent_stage& stage) {
  stage.launcher->on_start = [](fake_process& process) {
    process.on_signal = fake_process::ignore_all();
  };
}

// ---- at each point where it waits --------------------------------------------------------------

TIME_TEST("agent: cancelled in the rendezvous, it leaves", "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    stage.rendezvous->hold_at = 0;
    stage.start();
    co_await stage.pass(1s);
    REQUIRE(stage.rendezvous->joining == 1);
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    CHECK(was_cancelled_cleanly(stage));
    CHECK(stage.story() == "round 0, shutdown");
  }
}

TIME_TEST("agent: cancelled in a later rendezvous, it leaves", "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    stage.workers.max_restarts = 1;
    stage.rendezvous->hold_at = 1;
    stage.start();
    co_await stage.quiet();
    stage.worker(0).exit(1);
    co_await stage.quiet();
    REQUIRE(stage.rendezvous->joining == 1);
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    CHECK(was_cancelled_cleanly(stage));
    CHECK(stage.launcher->started.size() == 2);
  }
}

TIME_TEST("agent: cancelled while the ranks are exchanged, it leaves", "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    stage.rendezvous->group_world_size = 2;
    stage.start();
    co_await stage.pass(1s);
    REQUIRE_FALSE(stage.ended());
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    CHECK(was_cancelled_cleanly(stage));
    CHECK(stage.launcher->started.empty());
  }
}

TIME_TEST("agent: cancelled while workers are started, it leaves none", "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    ignore_signals(stage);
    stage.launcher->hold_at = 1;
    stage.start();
    co_await stage.pass(1s);
    REQUIRE(stage.launcher->holding == 1);
    REQUIRE(stage.launcher->running() == 1);
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    INFO(stage.story());
    CHECK(was_cancelled_cleanly(stage));
    CHECK(stage.launcher->started.size() == 1);
  }
}

TIME_TEST("agent: cancelled while workers run, it stops or kills them", "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    ignore_signals(stage);
    stage.start();
    co_await stage.pass(1s);
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    REQUIRE(stage.ended() == !cancellation.is_graceful);
    if (cancellation.is_graceful) {
      co_await stage.pass(30s - 1ns);
      REQUIRE_FALSE(stage.ended());
      co_await stage.pass(1ns);
      co_await stage.quiet();
    }
    CHECK(was_cancelled_cleanly(stage));
    const std::vector<int> graceful_signals{SIGTERM, SIGKILL};
    const std::vector<int> kill_signals{SIGKILL};
    CHECK(stage.worker(0).signals == (cancellation.is_graceful ? graceful_signals : kill_signals));
    CHECK(stage.worker(1).signals == (cancellation.is_graceful ? graceful_signals : kill_signals));
  }
}

TIME_TEST("agent: cancelled while it stops a failed group, the request counts",
          "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    ignore_signals(stage);
    stage.workers.max_restarts = 3;
    stage.start();
    co_await stage.quiet();
    stage.worker(0).exit(1);
    co_await stage.pass(20s);
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    REQUIRE(stage.ended() == !cancellation.is_graceful);
    if (cancellation.is_graceful) co_await stage.pass(30s);
    co_await stage.quiet();
    CHECK(was_cancelled_cleanly(stage));
    CHECK(stage.launcher->started.size() == 2);
    CHECK(stage.worker(1).signals.back() == SIGKILL);
  }
}

// An agent that stops because of `first_type`, which is graceful, is sent `second_type`.
task<void> escalate(elastic::test::manual_time& time, std::optional<cancellation_type> first_type,
                    cancellation_type second_type) {
  agent_stage stage(time);
  ignore_signals(stage);
  stage.start();
  co_await stage.quiet();
  if (first_type) {
    stage.cancel.emit(*first_type);
  } else {
    stage.agent().stop({});
  }
  co_await stage.pass(1s);
  REQUIRE_FALSE(stage.ended());
  stage.cancel.emit(second_type);
  co_await stage.quiet();
  CHECK(was_cancelled_cleanly(stage));
  const std::vector<int> expected_signals{SIGTERM, SIGKILL};
  CHECK(stage.worker(0).signals == expected_signals);
  CHECK(stage.worker(1).signals == expected_signals);
}

TIME_TEST("agent: cancelled while it stops, it kills", "[agent][cancellation]") {
  for (const request& second_request : requests) {
    CAPTURE(second_request.name);
    co_await escalate(time, std::nullopt, second_request.type);
    for (const request& first_request : requests) {
      CAPTURE(first_request.name);
      if (!first_request.is_graceful) continue;
      co_await escalate(time, first_request.type, second_request.type);
    }
  }
}

TIME_TEST("agent: cancelled at the exit barrier, it has succeeded", "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    agent_stage other_stage(time);
    stage.rendezvous->group_world_size = 2;
    other_stage.rendezvous->group_world_size = 2;
    other_stage.rendezvous->group_rank = 1;
    other_stage.rendezvous->agents = stage.rendezvous->agents;
    stage.start();
    other_stage.start();
    co_await stage.quiet();
    stage.worker(0).exit(0);
    stage.worker(1).exit(0);
    co_await stage.pass(1s);
    REQUIRE_FALSE(stage.ended());
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    REQUIRE(stage.ended());
    CHECK(stage.result().state == worker_state::succeeded);
    CHECK(stage.is_clean());
    other_stage.agent().stop({});
    co_await other_stage.end();
  }
}

TIME_TEST("agent: cancelled while it breaks down, it still ends its workers",
          "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    ignore_signals(stage);
    stage.start();
    co_await stage.quiet();
    stage.rendezvous->break_down(std::make_exception_ptr(
        elastic::error(elastic::errc::connection_failed, "the store is gone")));
    co_await stage.pass(20s);
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    REQUIRE(stage.ended() == !cancellation.is_graceful);
    if (cancellation.is_graceful) co_await stage.pass(30s);
    co_await stage.quiet();
    REQUIRE(stage.ended());
    CHECK(stage.failure() == elastic::errc::connection_failed);
    CHECK(stage.is_clean());
  }
}

// ---- in the coroutines of users ----------------------------------------------------------------

task<run_result> call_run(local_agent& agent) { co_return co_await agent.run(); }

TIME_TEST("agent: a partial cancellation reaches it through its caller", "[agent][cancellation]") {
  agent_stage stage(time);
  stage.start(call_run(stage.agent()));
  co_await stage.quiet();
  stage.cancel.emit(cancellation_type::partial);
  co_await stage.end();
  CHECK(was_cancelled_cleanly(stage));
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
}

/// What a caller sees after `run`.
struct aftermath {
  bool was_aborted = false;
  bool throws_if_cancelled = false;
  cancellation_type pending_type = cancellation_type::all;
  bool has_slept = false;
};

task<run_result> run_then_sleep(local_agent& agent, elastic::time_source& time, aftermath& report) {
  run_result result;
  try {
    result = co_await agent.run();
  } catch (const elastic::detail::asio_system_error& thrown) {
    report.was_aborted = thrown.code() == asio::error::operation_aborted;
  }
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  report.pending_type = state.cancelled();
  report.throws_if_cancelled = co_await asio::this_coro::throw_if_cancelled();
  co_await time.sleep_until(time.now() + 1min);
  report.has_slept = true;
  co_return result;
}

TIME_TEST("agent: after it was cancelled its caller can await again", "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    aftermath report;
    stage.start(run_then_sleep(stage.agent(), time, report));
    co_await stage.quiet();
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    CHECK(report.was_aborted);
    CHECK(report.pending_type == cancellation_type::none);
    CHECK(report.throws_if_cancelled);
    co_await stage.end();
    CHECK(report.has_slept);
  }
}

// Cancels the caller of an agent that has ended by itself.
task<void> cancel_after_end(elastic::test::manual_time& time, cancellation_type type,
                            aftermath& report) {
  agent_stage stage(time);
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  stage.start(run_then_sleep(stage.agent(), time, report));
  co_await stage.pass(1s);
  stage.cancel.emit(type);
  co_await stage.end();
}

TIME_TEST("agent: after its end its caller is deaf to partial again, and hears terminal",
          "[agent][cancellation]") {
  aftermath partial_report;
  co_await cancel_after_end(time, cancellation_type::partial, partial_report);
  CHECK(partial_report.has_slept);
  aftermath total_report;
  co_await cancel_after_end(time, cancellation_type::total, total_report);
  CHECK(total_report.has_slept);
  aftermath terminal_report;
  co_await cancel_after_end(time, cancellation_type::terminal, terminal_report);
  CHECK_FALSE(terminal_report.has_slept);
  CHECK_FALSE(terminal_report.was_aborted);
}

task<run_result> run_at_most(local_agent& agent, elastic::time_source& time,
                             elastic::duration time_limit, std::size_t& winner) {
  using namespace asio::experimental::awaitable_operators;
  auto outcome = co_await (agent.run() || time.sleep_until(time.now() + time_limit));
  winner = outcome.index();
  co_return winner == 0 ? std::get<0>(std::move(outcome)) : run_result{};
}

TIME_TEST("agent: that loses against a timer, it leaves its workers their grace",
          "[agent][cancellation]") {
  agent_stage stage(time);
  ignore_signals(stage);
  std::size_t winner = 7;
  stage.start(run_at_most(stage.agent(), time, 1min, winner));
  co_await stage.pass(1min);
  co_await stage.quiet();
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
  co_await stage.pass(30s - 1ns);
  CHECK_FALSE(stage.ended());
  co_await stage.pass(1ns);
  co_await stage.quiet();
  REQUIRE(stage.ended());
  CHECK(winner == 1);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: that wins against a timer, it has its result", "[agent][cancellation]") {
  agent_stage stage(time);
  std::size_t winner = 7;
  stage.start(run_at_most(stage.agent(), time, 1min, winner));
  co_await stage.pass(59s);
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(winner == 0);
  CHECK(stage.result().state == worker_state::succeeded);
}

task<run_result> run_with_open_filter(local_agent& agent, elastic::time_source& time) {
  using namespace asio::experimental::awaitable_operators;
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await (agent.run() || time.sleep_until(time.now() + 1h));
  co_return run_result{};
}

TIME_TEST("agent: within || a request from outside reaches it as it is", "[agent][cancellation]") {
  for (const request& cancellation : requests) {
    CAPTURE(cancellation.name);
    agent_stage stage(time);
    ignore_signals(stage);
    stage.start(run_with_open_filter(stage.agent(), time));
    co_await stage.pass(1s);
    stage.cancel.emit(cancellation.type);
    co_await stage.quiet();
    CHECK(stage.launcher->all_gone() == !cancellation.is_graceful);
    CHECK(stage.worker(0).signals ==
          std::vector<int>{cancellation.is_graceful ? SIGTERM : SIGKILL});
    co_await stage.pass(30s);
    co_await stage.quiet();
    CHECK(stage.is_clean());
    co_await stage.end();
  }
}

task<run_result> run_until(local_agent& agent, elastic::time_source& time,
                           elastic::duration time_limit) {
  const auto result = co_await elastic::with_deadline(time, time.now() + time_limit, agent.run());
  co_return result.value_or(run_result{});
}

TIME_TEST("agent: a deadline leaves the workers their grace, a request after it kills",
          "[agent][cancellation]") {
  agent_stage stage(time);
  ignore_signals(stage);
  stage.start(run_until(stage.agent(), time, 1min));
  co_await stage.pass(1min);
  co_await stage.pass(1s);
  CHECK(stage.worker(0).signals == std::vector<int>{SIGTERM});
  CHECK_FALSE(stage.ended());
  SECTION("none") { co_await stage.pass(29s); }
  SECTION("terminal") { stage.cancel.emit(cancellation_type::terminal); }
  co_await stage.quiet();
  CHECK(stage.ended());
  const std::vector<int> expected_signals{SIGTERM, SIGKILL};
  CHECK(stage.worker(0).signals == expected_signals);
  CHECK(stage.is_clean());
}

TIME_TEST("agent: two as tasks of one coroutine, one cancelled, the other goes on",
          "[agent][cancellation]") {
  agent_stage first_stage(time);
  agent_stage second_stage(time);
  first_stage.start();
  second_stage.start();
  co_await first_stage.quiet();
  first_stage.cancel.emit(cancellation_type::partial);
  co_await first_stage.end();
  CHECK(was_cancelled_cleanly(first_stage));
  CHECK(second_stage.launcher->running() == 2);
  CHECK(second_stage.worker(0).signals.empty());
  second_stage.worker(0).exit(0);
  second_stage.worker(1).exit(0);
  co_await second_stage.end();
  CHECK(second_stage.result().state == worker_state::succeeded);
}

// An agent without virtual time, whose workers exit with 0.
std::unique_ptr<local_agent> make_short_agent(
    std::shared_ptr<elastic::test::fake_launcher> launcher) {
  launcher->on_start = [](fake_process& process) { process.exit(0); };
  elastic::local_agent::options options;
  options.workers.program = "trainer";
  options.workers.log_dir = "/dev/null";
  options.services.launcher = launcher;
  options.rendezvous = std::make_shared<elastic::test::fake_rendezvous>(launcher->notes);
  return std::make_unique<local_agent>(std::move(options));
}

TEST_CASE("agent: runs without a cancellation slot", "[agent][cancellation]") {
  asio::io_context context;
  const auto agent = make_short_agent(std::make_shared<elastic::test::fake_launcher>());
  run_result result;
  asio::co_spawn(context, agent->run(),
                 [&](std::exception_ptr, run_result outcome) { result = std::move(outcome); });
  context.run();
  CHECK(result.state == worker_state::succeeded);
}

TEST_CASE("agent: cancelled before it begins, it does nothing", "[agent][cancellation]") {
  asio::io_context context;
  auto launcher = std::make_shared<elastic::test::fake_launcher>();
  const auto agent = make_short_agent(launcher);
  asio::cancellation_signal cancel;
  std::exception_ptr failure;
  asio::co_spawn(
      context, agent->run(),
      asio::bind_cancellation_slot(
          cancel.slot(), [&](std::exception_ptr thrown, run_result) { failure = thrown; }));
  cancel.emit(cancellation_type::terminal);
  context.run();
  REQUIRE(failure);
  CHECK(elastic::detail::is_cancellation(failure));
#if !defined(ELASTIC_USE_BOOST_ASIO)
  // Boost's Asio passes the request on only when the run has begun.
  CHECK(launcher->notes->empty());
#endif
}

// ---- on several threads ------------------------------------------------------------------------

/// One agent on a pool, with its user's coroutine on a strand of the pool. Its fakes are touched
/// on the agent's own strand alone.
struct pooled_agent {
  explicit pooled_agent(asio::thread_pool& pool)
      : strand(asio::make_strand(pool.get_executor())),
        launcher(std::make_shared<elastic::test::fake_launcher>()) {
    elastic::local_agent::options options;
    options.workers.program = "trainer";
    options.workers.log_dir = "/dev/null";
    options.workers.nproc_per_node = 4;
    options.workers.max_restarts = 3;
    options.services.launcher = launcher;
    options.rendezvous = std::make_shared<elastic::test::fake_rendezvous>(launcher->notes);
    agent = std::make_unique<local_agent>(std::move(options));
  }

  void start() {
    asio::co_spawn(strand, agent->run(),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [this](std::exception_ptr thrown, run_result outcome) {
                         failure = thrown;
                         result = std::move(outcome);
                       }));
  }
  /// Cancels on the strand, the only place from which that may be done.
  void emit(cancellation_type type) {
    asio::post(strand, [this, type] { cancel.emit(type); });
  }

  asio::strand<asio::thread_pool::executor_type> strand;
  std::shared_ptr<elastic::test::fake_launcher> launcher;
  asio::cancellation_signal cancel;
  std::unique_ptr<local_agent> agent;
  std::exception_ptr failure;
  run_result result;
};

TEST_CASE("agent: many on a thread pool, ended in every way", "[agent][cancellation]") {
  asio::thread_pool pool(4);
  std::vector<std::unique_ptr<pooled_agent>> agents;
  for (int number = 0; number < 60; ++number) {
    agents.push_back(std::make_unique<pooled_agent>(pool));
    pooled_agent& entry = *agents.back();
    entry.launcher->on_start = [&entry, number](fake_process& process) {
      const bool first_attempt = process.index < 4;
      if (first_attempt && process.index == 3) process.exit(1);
      if (first_attempt) return;
      if (number % 5 == 0) process.exit(0);
      if (process.index != 7) return;
      if (number % 5 == 1) entry.emit(cancellation_type::partial);
      if (number % 5 == 2) entry.emit(cancellation_type::terminal);
      if (number % 5 == 3) entry.emit(cancellation_type::all);
    };
  }
  for (const auto& entry : agents) entry->start();
  for (std::size_t number = 4; number < agents.size(); number += 5) agents[number]->agent->stop({});
  pool.join();
  for (std::size_t number = 0; number < agents.size(); ++number) {
    CAPTURE(number);
    const pooled_agent& entry = *agents[number];
    CHECK(entry.launcher->all_gone());
    if (number % 5 == 0 || number % 5 == 4) {
      REQUIRE_FALSE(entry.failure);
      CHECK(entry.result.state ==
            (number % 5 == 0 ? worker_state::succeeded : worker_state::stopped));
    } else {
      REQUIRE(entry.failure);
      CHECK(elastic::detail::is_cancellation(entry.failure));
    }
  }
}

}  // namespace local_agent_cancellation_tests
