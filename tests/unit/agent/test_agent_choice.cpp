// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>

#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>

namespace agent_choice_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::error;
using elastic::job_command;
using elastic::rendezvous_handler;
using elastic::task;
using elastic::worker_state;
using elastic::test::agent_stage;

/// An agent whose rendezvous is chosen when its test says so.
struct choosing_agent {
  explicit choosing_agent(elastic::test::manual_time& time) : stage(time) {
    stage.choose = [this](std::shared_ptr<rendezvous_handler>& tried) { return choose(tried); };
  }
  choosing_agent(const choosing_agent&) = delete;
  choosing_agent& operator=(const choosing_agent&) = delete;

  /// Ends the choice.
  void decide() { decided->set(); }

  agent_stage stage;
  /// The handler is tried before it is chosen.
  bool is_tried = false;
  /// How the choice fails.
  std::exception_ptr failure;
  int choices = 0;
  std::shared_ptr<elastic::event_flag> decided;

 private:
  task<std::shared_ptr<rendezvous_handler>> choose(std::shared_ptr<rendezvous_handler>& tried) {
    ++choices;
    if (is_tried) tried = stage.rendezvous;
    decided = std::make_shared<elastic::event_flag>(co_await asio::this_coro::executor);
    co_await decided->wait();
    if (failure) std::rethrow_exception(failure);
    co_return stage.rendezvous;
  }
};

TIME_TEST("agent: a rendezvous is chosen once, before the first round", "[agent]") {
  choosing_agent agent(time);
  agent_stage& stage = agent.stage;
  stage.workers.nproc_per_node = 1;
  stage.workers.max_restarts = 1;
  stage.start();
  co_await stage.pass(1h);
  CHECK(stage.story() == "");
  agent.decide();
  co_await stage.quiet();
  stage.worker(0).exit(1);
  co_await stage.pass(1min);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(agent.choices == 1);
  CHECK_THAT(stage.story(), elastic::test::contains_text("round 0"));
  CHECK_THAT(stage.story(), elastic::test::contains_text("round 1"));
  CHECK_THAT(stage.story(), elastic::test::contains_text("close, shutdown"));
}

TIME_TEST("agent: cancelled while it chooses, it leaves what it has tried",
          "[agent][cancellation]") {
  for (const bool is_tried : {false, true}) {
    for (const auto type : {asio::cancellation_type::partial, asio::cancellation_type::total,
                            asio::cancellation_type::terminal, asio::cancellation_type::all}) {
      CAPTURE(is_tried, static_cast<int>(type));
      choosing_agent agent(time);
      agent.is_tried = is_tried;
      agent.stage.start();
      co_await agent.stage.pass(1s);
      agent.stage.cancel.emit(type);
      co_await agent.stage.quiet();
      REQUIRE(agent.stage.ended());
      CHECK(agent.stage.was_cancelled());
      CHECK(agent.stage.story() == (is_tried ? "shutdown" : ""));
    }
  }
}

TIME_TEST("agent: stopped while it chooses, it leaves what it has tried", "[agent]") {
  for (const bool is_tried : {false, true}) {
    for (const bool is_node_bad : {false, true}) {
      CAPTURE(is_tried, is_node_bad);
      choosing_agent agent(time);
      agent.is_tried = is_tried;
      agent.stage.start();
      co_await agent.stage.pass(1s);
      elastic::stop_request request;
      request.is_node_bad = is_node_bad;
      agent.stage.agent().stop(request);
      co_await agent.stage.quiet();
      REQUIRE(agent.stage.ended());
      CHECK(agent.stage.result().state == worker_state::stopped);
      CHECK(agent.stage.story() == (is_tried ? "shutdown" : ""));
    }
  }
}

TIME_TEST("agent: a choice that fails ends the run with its error", "[agent]") {
  for (const bool is_tried : {false, true}) {
    CAPTURE(is_tried);
    choosing_agent agent(time);
    agent.is_tried = is_tried;
    agent.failure = std::make_exception_ptr(error(errc::invalid_argument, "two ways to meet"));
    agent.stage.start();
    co_await agent.stage.pass(1s);
    agent.decide();
    co_await agent.stage.end();
    CHECK(agent.stage.failure() == errc::invalid_argument);
    CHECK(agent.stage.failure_text() == "two ways to meet");
    CHECK(agent.stage.story() == (is_tried ? "shutdown" : ""));
  }
}

}  // namespace agent_choice_tests
