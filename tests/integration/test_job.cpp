// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job as an object of a program that has other work: stopped, killed and cancelled, from this
// thread and another, it has its result.

#include <elastic/base/error.hpp>
#include <elastic/launch/job.hpp>
#include <elastic/telemetry/worker_observer.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/thread_pool.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace job_tests {

using elastic::error;
using elastic::job;
using elastic::launch_config;
using elastic::run_result;
using elastic::worker_state;
using words = std::vector<std::string>;

/// Calls somebody when the workers run.
struct starter final : elastic::worker_observer {
  std::function<void()> on_start = [] {};
  void started(const elastic::worker_observer::started_workers&) override { on_start(); }
};

/// A program with one job of puppets, each of which does `acts`.
class program {
 public:
  explicit program(words acts) {
    config.workers.program = ELASTIC_PUPPET;
    config.workers.arguments = std::move(acts);
    config.workers.nproc_per_node = 2;
    config.workers.environment["OMP_NUM_THREADS"] = "1";
    config.workers.environment[remains_.name] = remains_.value;
    config.workers.shutdown_timeout = std::chrono::hours(1);
    config.standalone = true;
    services.observer = observer;
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  ~program() { CHECK(remains_.processes().empty()); }

  launch_config config;
  std::shared_ptr<starter> observer = std::make_shared<starter>();
  elastic::agent_services services;
  asio::io_context context;
  asio::cancellation_signal cancel;

  /// Runs it. Errors: those of the job.
  run_result run(job& work) {
    std::exception_ptr failure;
    std::optional<run_result> result;
    asio::co_spawn(context, work.run(),
                   asio::bind_cancellation_slot(
                       cancel.slot(), [&](std::exception_ptr thrown, run_result ended) {
                         failure = thrown;
                         result = std::move(ended);
                       }));
    context.run();
    if (failure) std::rethrow_exception(failure);
    return *result;
  }

 private:
  elastic::test::leftovers remains_;
};

TEST_CASE("job: it runs to its end, and once", "[integration][agent]") {
  program host({"exit", "0"});
  job work(host.context.get_executor(), host.config);
  CHECK(host.run(work).state == worker_state::succeeded);
  // Without effect now.
  work.stop();
  work.kill();
  host.context.restart();
  CHECK_THROWS_AS(host.run(work), error);
}

TEST_CASE("job: what it cannot do is refused before it runs", "[integration][agent]") {
  program host({"exit", "0"});
  host.config.workers.nproc_per_node = 0;
  CHECK_THROWS_AS(job(host.context.get_executor(), host.config), error);
}

TEST_CASE("job: stopped, it has a result", "[integration][agent]") {
  program host({"hang"});
  std::optional<job> work;
  SECTION("on its thread") {
    host.observer->on_start = [&] { work->stop({.reason = "enough"}); };
  }
  SECTION("twice, which is the same") {
    host.observer->on_start = [&] {
      work->stop({.reason = "enough"});
      work->stop({.signal = SIGINT, .reason = "again"});
    };
  }
  SECTION("from another thread") {
    host.observer->on_start = [&] {
      std::thread([&] { work->stop({.reason = "enough"}); }).join();
    };
  }
  work.emplace(host.context.get_executor(), host.config, host.services);
  const run_result result = host.run(*work);
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "enough");
  for (const auto& failure : result.failures) {
    CHECK(failure.status == elastic::exit_status::signalled(SIGTERM));
  }
}

TEST_CASE("job: stopped before it runs, it starts no worker", "[integration][agent]") {
  program host({"exit", "1"});
  job work(host.context.get_executor(), host.config);
  work.stop();
  const run_result result = host.run(work);
  CHECK(result.state == worker_state::stopped);
  CHECK(result.failures.empty());
}

TEST_CASE("job: a kill ends workers that ignore a stop", "[integration][agent]") {
  program host({"ignore", "15", "hang"});
  std::optional<job> work;
  host.observer->on_start = [&] {
    work->stop({.reason = "enough"});
    work->kill();
  };
  work.emplace(host.context.get_executor(), host.config, host.services);
  const run_result result = host.run(*work);
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "enough");
  REQUIRE(result.failures.size() == 2);
  CHECK(result.failures[0].status == elastic::exit_status::signalled(SIGKILL));
}

TEST_CASE("job: cancelled, it has a result", "[integration][agent][cancellation]") {
  program host({"hang"});
  const auto type = GENERATE(asio::cancellation_type::partial, asio::cancellation_type::total,
                             asio::cancellation_type::terminal, asio::cancellation_type::all);
  host.observer->on_start = [&] { asio::post(host.context, [&] { host.cancel.emit(type); }); };
  job work(host.context.get_executor(), host.config, host.services);
  const run_result result = host.run(work);
  CHECK(result.state == worker_state::stopped);
  CHECK(result.reason == "cancelled");
  const int expected_signal = type == asio::cancellation_type::terminal ? SIGKILL : SIGTERM;
  REQUIRE(result.failures.size() == 2);
  CHECK(result.failures[0].status == elastic::exit_status::signalled(expected_signal));
}

TEST_CASE("job: it runs on its own executor, whichever its caller's is", "[integration][agent]") {
  program host({"exit", "0"});
  asio::thread_pool pool(2);
  std::thread::id thread;
  host.observer->on_start = [&] { thread = std::this_thread::get_id(); };
  job work(pool.get_executor(), host.config, host.services);
  const run_result result = host.run(work);
  pool.join();
  CHECK(result.state == worker_state::succeeded);
  CHECK(thread != std::thread::id());
  CHECK(thread != std::this_thread::get_id());
}

}  // namespace job_tests
