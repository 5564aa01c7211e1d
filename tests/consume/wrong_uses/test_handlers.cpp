// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Handlers that throw, that move, that run elsewhere, that start the next run, and tokens whose run
// nobody waits for.

#include "host.hpp"

#include <elastic/agent/job_command.hpp>
#include <elastic/launch/run_with_signals.hpp>

#include <csignal>
#include <future>
#include <stdexcept>
#include <thread>

namespace wrong_uses::handlers {

using elastic::job;
using elastic::job_command;

TEST_CASE("wrong use: a handler throws, and the context goes on", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    const auto object = program.make(what);
    object->start(program.executor(), {}, program.executor(),
                  [&](std::exception_ptr, worker_state state) {
                    program.ended.take(nullptr, state);
                    throw std::runtime_error("thrown by the handler");
                  });
    CHECK_THROWS_WITH(program.run(), "thrown by the handler");
    program.run();
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

TEST_CASE("wrong use: the executor of a handler is another context's", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    asio::io_context other;
    const auto object = program.make(what);
    program.start(*object, other.get_executor());
    program.run();
    CHECK(program.ended.calls == 0);
    other.run();
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

TEST_CASE("wrong use: the context of a handler waits for it", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    asio::io_context other;
    const auto object = program.make(what);
    program.start(*object, other.get_executor());
    std::thread waiting([&] { other.run(); });
    program.run();
    waiting.join();
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

TEST_CASE("wrong use: the context of a handler is destroyed uncalled", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    std::optional<asio::io_context> other(std::in_place);
    const auto object = program.make(what);
    program.start(*object, other->get_executor());
    program.run();
    other.reset();
    CHECK(program.ended.calls == 0);
  }
}

TEST_CASE("wrong use: a handler starts the next object in the place of its own", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    std::unique_ptr<runner> object = program.make(what);
    object->start(program.executor(), {}, program.executor(),
                  [&](std::exception_ptr, worker_state) {
                    object = program.make(what);
                    program.start(*object);
                  });
    program.run();
    CHECK(program.ended.is_once(worker_state::succeeded));
    CHECK(program.observer->starts == 2);
  }
}

TEST_CASE("wrong use: a handler that cannot be copied is called", "[sanitize]") {
  host program({"exit", "0"});
  job work(program.executor(), program.config);
  work.async_run([&, owned = std::make_unique<int>(7)](std::exception_ptr, run_result result) {
    program.ended.take(nullptr, *owned == 7 ? result.state : worker_state::init);
  });
  program.run();
  CHECK(program.ended.is_once(worker_state::succeeded));
}

TEST_CASE("wrong use: a future that nobody keeps does not wait", "[sanitize]") {
  host program;
  job work(program.executor(), program.config, program.services);
  program.when_workers_run([&] { work.stop(); });
  work.async_run(asio::use_future);
  program.run();
  CHECK(work.view()->has_ended);
}

TEST_CASE("wrong use: a deferred run that is dropped runs nothing", "[sanitize]") {
  host program;
  job work(program.executor(), program.config, program.services);
  { const auto later = work.async_run(elastic::test::deferred); }
  program.run();
  CHECK(program.observer->starts == 0);
}

TEST_CASE("wrong use: a deferred run that begins without its object is stopped", "[sanitize]") {
  host program;
  std::optional<job> work(std::in_place, program.executor(), program.config, program.services);
  auto later = work->async_run(elastic::test::deferred);
  work.reset();
  std::move(later)([&](std::exception_ptr failure, run_result result) {
    program.ended.take(std::move(failure), result.state);
  });
  program.run();
  CHECK(program.ended.is_once(worker_state::stopped));
  CHECK(program.observer->starts == 0);
}

TEST_CASE("wrong use: an agent is destroyed while run_with_signals runs it", "[sanitize]") {
  host program;
  elastic::local_agent::options options;
  options.workers = program.config.workers;
  options.services = program.services;
  elastic::rendezvous_parameters meeting;
  meeting.backend = "c10d";
  meeting.endpoint = "localhost:0";
  options.rendezvous = elastic::rendezvous_registry().make(meeting);
  std::optional<elastic::local_agent> agent(options);
  program.when_workers_run([&] {
    agent.reset();
    ::raise(SIGTERM);
  });
  asio::co_spawn(program.executor(), state_of(elastic::run_with_signals(*agent)),
                 [&](std::exception_ptr failure, worker_state state) {
                   program.ended.take(std::move(failure), state);
                 });
  program.run();
  CHECK(program.ended.is_once(worker_state::stopped));
}

// ---- commands to what does not run --------------------------------------------------------------

/// Sends a command to an object that does not run, and then destroys it. Result: the answer.
template <class Object>
std::optional<job_command::outcome> answer_without_run(host& program,
                                                       std::optional<Object>& object) {
  std::optional<job_command::outcome> answer;
  asio::co_spawn(program.executor(), object->carry_out(job_command()),
                 [&](std::exception_ptr, job_command::outcome outcome) { answer = outcome; });
  program.poll();
  CHECK_FALSE(answer);
  object.reset();
  program.run();
  return answer;
}

TEST_CASE("wrong use: a command to an agent that never runs is answered", "[sanitize]") {
  host program;
  elastic::local_agent::options options;
  options.workers = program.config.workers;
  options.rendezvous = elastic::rendezvous_registry().make(elastic::rendezvous_parameters());
  std::optional<elastic::local_agent> agent(options);
  const auto answer = answer_without_run(program, agent);
  REQUIRE(answer);
  CHECK_FALSE(answer->is_done);
}

TEST_CASE("wrong use: a command to replicas that never run is answered", "[sanitize]") {
  host program;
  std::optional<elastic::replica_set> replicas(std::in_place, program.config);
  const auto answer = answer_without_run(program, replicas);
  REQUIRE(answer);
  CHECK_FALSE(answer->is_done);
}

TEST_CASE("wrong use: a command after the end is answered", "[sanitize]") {
  host program({"exit", "0"});
  elastic::replica_set replicas(program.config);
  replicas.async_run(program.executor(), [](std::exception_ptr, run_result) {});
  program.run();
  std::optional<job_command::outcome> answer;
  asio::co_spawn(program.executor(), replicas.carry_out(job_command()),
                 [&](std::exception_ptr, job_command::outcome outcome) { answer = outcome; });
  program.run();
  REQUIRE(answer);
  CHECK_FALSE(answer->is_done);
}

TEST_CASE("wrong use: a command whose run's task is dropped is answered", "[sanitize]") {
  host program;
  elastic::replica_set replicas(program.config);
  std::optional<job_command::outcome> answer;
  asio::co_spawn(program.executor(), replicas.carry_out(job_command()),
                 [&](std::exception_ptr, job_command::outcome outcome) { answer = outcome; });
  program.poll();
  { const auto dropped = replicas.run(); }
  program.run();
  REQUIRE(answer);
  CHECK_FALSE(answer->is_done);
}

}  // namespace wrong_uses::handlers
