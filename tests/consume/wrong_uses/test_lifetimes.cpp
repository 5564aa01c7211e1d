// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Objects that are destroyed at any moment of their run, run twice or never, and whose context is
// destroyed. The run ends, its handler is called once, and no worker is left.

#include "host.hpp"

#include <csignal>
#include <thread>

namespace wrong_uses::lifetimes {

TEST_CASE("wrong use: destroyed before it runs, nothing happens", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    program.make(what).reset();
    program.run();
    CHECK(program.observer->starts == 0);
  }
}

TEST_CASE("wrong use: destroyed at once after its start, it ends as stopped", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    auto object = program.make(what);
    program.start(*object);
    object.reset();
    CHECK(program.ended.calls == 0);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
    CHECK(program.observer->starts == 0);
  }
}

TEST_CASE("wrong use: destroyed while its workers run, they are stopped", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    auto object = program.make(what);
    program.when_workers_run([&] { object.reset(); });
    program.start(*object);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: destroyed by its own observer, it ends as stopped", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    auto object = program.make(what);
    program.observer->on_start = [&] { object.reset(); };
    program.start(*object);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: destroyed by another thread, its workers are stopped", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    auto object = program.make(what);
    std::thread other;
    program.observer->on_start = [&] {
      other = std::thread([leaving = std::move(object)]() mutable { leaving.reset(); });
    };
    program.start(*object);
    program.run();
    other.join();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: destroyed while it stops, the same stop goes on", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    auto object = program.make(what);
    program.when_workers_run([&] {
      object->stop({});
      object.reset();
    });
    program.start(*object);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: destroyed, it kills workers that ignore the stop", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"ignore", "15", "hang"});
    program.config.workers.shutdown_timeout = std::chrono::milliseconds(50);
    auto object = program.make(what);
    program.when_workers_run([&] { object.reset(); });
    program.start(*object);
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: destroyed by its handler, its result is whole", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    auto object = program.make(what);
    object->start(program.executor(), {}, program.executor(),
                  [&](std::exception_ptr failure, worker_state state) {
                    object.reset();
                    program.ended.take(std::move(failure), state);
                  });
    program.run();
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

TEST_CASE("wrong use: destroyed after its end, nothing happens", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    auto object = program.make(what);
    program.start(*object);
    program.run();
    object.reset();
    program.run();
    CHECK(program.ended.is_once(worker_state::succeeded));
  }
}

TEST_CASE("wrong use: destroyed before its task begins, it ends as stopped", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    auto object = program.make(what);
    task<worker_state> running = object->run();
    object.reset();
    asio::co_spawn(program.executor(), std::move(running),
                   [&](std::exception_ptr failure, worker_state state) {
                     program.ended.take(std::move(failure), state);
                   });
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
    CHECK(program.observer->starts == 0);
  }
}

TEST_CASE("wrong use: its task is dropped, nothing runs", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    const auto object = program.make(what);
    { const task<worker_state> dropped = object->run(); }
    program.start(*object);
    program.run();
    CHECK(program.ended.calls == 1);
    CHECK(program.ended.code() == elastic::errc::invalid_argument);
    CHECK(program.observer->starts == 0);
  }
}

TEST_CASE("wrong use: run twice, the second run is refused", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program({"exit", "0"});
    const auto object = program.make(what);
    program.start(*object);
    program.run();
    REQUIRE(program.ended.is_once(worker_state::succeeded));
    program.start(*object);
    program.run();
    CHECK(program.ended.calls == 2);
    CHECK(program.ended.code() == elastic::errc::invalid_argument);
  }
}

TEST_CASE("wrong use: run again while it runs, only the second run fails", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    const auto object = program.make(what);
    outcome second;
    program.when_workers_run([&] {
      object->start(program.executor(), {}, program.executor(),
                    [&](std::exception_ptr failure, worker_state state) {
                      second.take(std::move(failure), state);
                      object->stop({});
                    });
    });
    program.start(*object);
    program.run();
    CHECK(second.calls == 1);
    CHECK(second.code() == elastic::errc::invalid_argument);
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: its context is destroyed first, the workers die", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    const auto object = program.make(what);
    program.when_workers_run([&] { program.context->stop(); });
    program.start(*object);
    program.run();
    program.context.reset();
    CHECK(program.observer->starts == 1);
    CHECK(program.ended.calls == 0);
    object->stop({});
  }
}

TEST_CASE("wrong use: its context is destroyed after it, the workers die", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    auto object = program.make(what);
    program.when_workers_run([&] { program.context->stop(); });
    program.start(*object);
    program.run();
    object.reset();
    program.context.reset();
    CHECK(program.ended.calls == 0);
  }
}

TEST_CASE("wrong use: its context is destroyed before its run begins", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    const auto object = program.make(what);
    program.start(*object);
    program.context.reset();
    CHECK(program.ended.calls == 0);
    CHECK(program.observer->starts == 0);
  }
}

TEST_CASE("wrong use: stopped after its end, and by many, nothing happens", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    const auto object = program.make(what);
    program.observer->on_start = [&] {
      std::vector<std::thread> others;
      for (int number = 0; number < 4; ++number) {
        others.emplace_back([&] { object->stop({}); });
      }
      for (std::thread& each : others) each.join();
    };
    program.start(*object);
    program.run();
    object->stop({.signal = SIGKILL, .escalates = true});
    program.run();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

TEST_CASE("wrong use: destroyed on a pool of threads, its workers are stopped", "[sanitize]") {
  FOR_EACH_KIND(what) {
    host program;
    asio::thread_pool pool(3);
    auto object = program.make(what, pool.get_executor());
    program.observer->on_start = [&] { asio::post(pool, [&] { object.reset(); }); };
    object->start(pool.get_executor(), {}, pool.get_executor(),
                  [&](std::exception_ptr failure, worker_state state) {
                    program.ended.take(std::move(failure), state);
                  });
    pool.join();
    CHECK(program.ended.is_once(worker_state::stopped));
  }
}

}  // namespace wrong_uses::lifetimes
