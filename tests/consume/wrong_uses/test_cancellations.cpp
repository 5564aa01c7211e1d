// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Cancellations of each type, at each moment. A run that was started by `async_run` has a result.

#include "host.hpp"

#if __has_include(<asio/cancel_after.hpp>) && !defined(ELASTIC_USE_BOOST_ASIO)
#include <asio/cancel_after.hpp>
#endif

#include <chrono>
#include <csignal>
#include <optional>

namespace wrong_uses::cancellations {

using asio::cancellation_type;

cancellation_type any_type() {
  return GENERATE(cancellation_type::partial, cancellation_type::total,
                  cancellation_type::terminal, cancellation_type::all);
}

TEST_CASE("wrong use: cancelled before it has begun, it ends as stopped", "[sanitize]") {
  FOR_EACH_KIND(what) {
    const cancellation_type type = any_type();
    host program;
    const auto object = program.make(what);
    program.start(*object);
    program.cancel.emit(type);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
    CHECK(program.observer->starts == 0);
  }
}

TEST_CASE("wrong use: cancelled while its workers run, it ends as stopped", "[sanitize]") {
  FOR_EACH_KIND(what) {
    const cancellation_type type = any_type();
    host program;
    const auto object = program.make(what);
    program.when_workers_run([&] { program.cancel.emit(type); });
    program.start(*object);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: cancelled by no type, it goes on", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    const auto object = program.make(what);
    program.start(*object);
    program.cancel.emit(cancellation_type::none);
    program.run();
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

TEST_CASE("wrong use: cancelled twice before it has begun, it has one result", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    const auto object = program.make(what);
    program.start(*object);
    program.cancel.emit(cancellation_type::partial);
    program.cancel.emit(cancellation_type::terminal);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: cancelled again while it stops, the workers are killed", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"ignore", "15", "hang"});
    const auto object = program.make(what);
    program.when_workers_run([&] {
      program.cancel.emit(cancellation_type::partial);
      program.cancel.emit(cancellation_type::partial);
    });
    program.start(*object);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: only terminal kills at once", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"ignore", "15", "hang"});
    const auto object = program.make(what);
    program.when_workers_run([&] { program.cancel.emit(cancellation_type::terminal); });
    program.start(*object);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: cancelled after its end, nothing happens", "[sanitize]") {
  FOR_EACH_KIND(what) {
    const cancellation_type type = any_type();
    host program({"exit", "0"});
    auto object = program.make(what);
    program.start(*object);
    program.run();
    program.cancel.emit(type);
    object.reset();
    program.cancel.emit(type);
    program.context.reset();
    program.cancel.emit(type);
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

TEST_CASE("wrong use: cancelled after it was destroyed, its workers are killed", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"ignore", "15", "hang"});
    auto object = program.make(what);
    program.when_workers_run([&] {
      object.reset();
      program.cancel.emit(cancellation_type::terminal);
    });
    program.start(*object);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: cancelled by the thread of its handler, not of its run", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    asio::thread_pool pool(2);
    const auto object = program.make(what, pool.get_executor());
    program.when_workers_run([&] { program.cancel.emit(cancellation_type::total); });
    auto open = asio::make_work_guard(*program.context);
    object->start(pool.get_executor(), program.cancel.slot(), program.executor(),
                  [&](std::exception_ptr failure, worker_state state) {
                    program.ended.take(std::move(failure), state);
                    open.reset();
                  });
    program.run();
    pool.join();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: its cancellation signal is destroyed, it goes on", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    std::optional<asio::cancellation_signal> signal(std::in_place);
    const auto object = program.make(what);
    object->start(program.executor(), signal->slot(), program.executor(),
                  [&](std::exception_ptr failure, worker_state state) {
                    program.ended.take(std::move(failure), state);
                  });
    signal.reset();
    program.run();
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

// Asio has it from 1.31 on.
#if __has_include(<asio/cancel_after.hpp>) && !defined(ELASTIC_USE_BOOST_ASIO)
TEST_CASE("wrong use: cancel_after kills, unless it is told otherwise", "[sanitize]") {
  const std::optional<cancellation_type> type =
      GENERATE(std::optional<cancellation_type>(), cancellation_type::partial);
  host program({"hang"});
  elastic::job work(program.executor(), program.config, program.services);
  elastic::run_result result;
  const auto on_end = [&](std::exception_ptr, elastic::run_result ended) { result = ended; };
  // Long after the start of the workers.
  const std::chrono::seconds limit(2);
  if (type) {
    work.async_run(asio::cancel_after(limit, *type, on_end));
  } else {
    work.async_run(asio::cancel_after(limit, on_end));
  }
  program.run();
  CHECK(result.state == worker_state::stopped);
  REQUIRE_FALSE(result.failures.empty());
  CHECK(result.failures[0].status == elastic::exit_status::signalled(type ? SIGTERM : SIGKILL));
}
#endif

// ---- as a task: what Asio makes of it -----------------------------------------------------------

void spawn(host& program, runner& object) {
  asio::co_spawn(program.executor(), object.run(),
                 asio::bind_cancellation_slot(
                     program.cancel.slot(), [&](std::exception_ptr failure, worker_state state) {
                       program.ended.take(std::move(failure), state);
                     }));
}

TEST_CASE("wrong use: a task that is cancelled before it begins: terminal throws", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    const auto object = program.make(what);
    spawn(program, *object);
    program.cancel.emit(cancellation_type::terminal);
    program.run();
    CHECK(program.ended.calls == 1);
    CHECK(program.ended.failure);
    CHECK(program.observer->starts == 0);
  }
}

TEST_CASE("wrong use: a task that is cancelled before it begins: partial is lost", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    const auto object = program.make(what);
    spawn(program, *object);
    program.cancel.emit(cancellation_type::partial);
    program.run();
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

task<worker_state> cancelled_before(host& program, task<worker_state> running) {
  co_await asio::this_coro::throw_if_cancelled(false);
  program.cancel.emit(cancellation_type::terminal);
  co_return co_await std::move(running);
}

TEST_CASE("wrong use: a cancelled coroutine that awaits it stops it", "[sanitize]") {
  const kind what = GENERATE(kind::job, kind::replicas, kind::roles);
  DYNAMIC_SECTION(name_of(what)) {
    host program;
    const auto object = program.make(what);
    asio::co_spawn(program.executor(), cancelled_before(program, object->run()),
                   asio::bind_cancellation_slot(
                       program.cancel.slot(), [&](std::exception_ptr failure, worker_state state) {
                         program.ended.take(std::move(failure), state);
                       }));
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
    CHECK(program.observer->starts == 0);
  }
}

}  // namespace wrong_uses::cancellations
