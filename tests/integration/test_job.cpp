// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job as an object in a program with other work: it still has a result if it is stopped, killed
// or cancelled, from this thread or another.

#include <elastic/base/error.hpp>
#include <elastic/launch/job.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/telemetry/worker_progress.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace job_tests {

using elastic::error;
using elastic::job;
using elastic::launch_config;
using elastic::run_result;
using elastic::worker_state;
using words = std::vector<std::string>;

/// Calls somebody when the workers run.
struct starter final : elastic::agent_part {
  std::function<void()> on_start = [] {};
  void started(const elastic::agent_part::started_workers&) override { on_start(); }
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
    add_part(services, "observer", observer);
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

// ---- any completion token ----------------------------------------------------------------------

TEST_CASE("job: a future has its result", "[integration][agent]") {
  program host({"exit", "0"});
  job work(host.context.get_executor(), host.config);
  std::future<run_result> ended = work.async_run(asio::use_future);
  host.context.run();
  CHECK(ended.get().state == worker_state::succeeded);
  // It runs once.
  std::future<run_result> again = work.async_run(asio::use_future);
  host.context.restart();
  host.context.run();
  CHECK_THROWS_AS(again.get(), error);
}

TEST_CASE("job: a function gets its result, and its slot cancels it", "[integration][agent]") {
  program host({"hang"});
  job work(host.context.get_executor(), host.config, host.services);
  host.observer->on_start = [&] {
    asio::post(host.context, [&] { host.cancel.emit(asio::cancellation_type::partial); });
  };
  std::optional<run_result> result;
  work.async_run(asio::bind_cancellation_slot(
      host.cancel.slot(), [&](std::exception_ptr failure, run_result ended) {
        REQUIRE_FALSE(failure);
        result = std::move(ended);
      }));
  host.context.run();
  REQUIRE(result);
  CHECK(result->state == worker_state::stopped);
  CHECK(result->reason == "cancelled");
}

elastic::task<void> await_end(job& work, worker_state& state) {
  elastic::task<run_result> running = work.async_run(asio::use_awaitable);
  const run_result result = co_await std::move(running);
  state = result.state;
}

TEST_CASE("job: a coroutine awaits it on another executor", "[integration][agent]") {
  program host({"exit", "0"});
  asio::thread_pool pool(2);
  job work(pool.get_executor(), host.config);
  worker_state state = worker_state::init;
  asio::co_spawn(host.context, await_end(work, state), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  host.context.run();
  pool.join();
  CHECK(state == worker_state::succeeded);
}

TEST_CASE("job: deferred, it runs when it is told to", "[integration][agent]") {
  program host({"exit", "0"});
  job work(host.context.get_executor(), host.config);
  auto later = work.async_run(elastic::test::deferred);
  host.context.run();
  CHECK(work.view()->round == -1);
  std::optional<run_result> result;
  std::move(later)([&](std::exception_ptr failure, run_result ended) {
    REQUIRE_FALSE(failure);
    result = std::move(ended);
  });
  host.context.restart();
  host.context.run();
  REQUIRE(result);
  CHECK(result->state == worker_state::succeeded);
}

// ---- its state ----------------------------------------------------------------------------------

TEST_CASE("job: a view shows its workers, and does not change", "[integration][agent]") {
  program host({"hang"});
  std::optional<job> work;
  std::shared_ptr<const job::snapshot> running;
  host.observer->on_start = [&] {
    running = work->view();
    for (const auto& each : running->workers) CHECK(::kill(each.pid, 0) == 0);
    std::thread([&] { CHECK(work->view()->workers.size() == 2); }).join();
    work->stop();
  };
  work.emplace(host.context.get_executor(), host.config, host.services);
  const auto before = work->view();
  CHECK(before->state == worker_state::init);
  CHECK(before->round == -1);
  CHECK(before->workers.empty());
  host.run(*work);
  REQUIRE(running);
  CHECK(running->state == worker_state::healthy);
  CHECK_FALSE(running->has_ended);
  CHECK(running->round == 0);
  CHECK(running->group_world_size == 1);
  CHECK(running->world_size == 2);
  REQUIRE(running->workers.size() == 2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    CHECK(running->workers[rank].rank == static_cast<int>(rank));
    CHECK(running->workers[rank].local_rank == static_cast<int>(rank));
    CHECK(running->workers[rank].is_running);
  }
  const auto after = work->view();
  CHECK(after->has_ended);
  CHECK(after->state == worker_state::stopped);
  CHECK_FALSE(after->workers.at(0).is_running);
  CHECK_FALSE(after->workers.at(0).end);
  CHECK(before->round == -1);
}

TEST_CASE("job: a view shows that its context was destroyed", "[integration][agent]") {
  launch_config config;
  config.standalone = true;
  config.workers.program = ELASTIC_PUPPET;
  config.workers.arguments = {"hang"};
  auto context = std::make_unique<asio::io_context>();
  job work(context->get_executor(), config);
  work.async_run([](std::exception_ptr, run_result) { FAIL_CHECK("called"); });
  while (work.view()->state != worker_state::healthy) context->run_one();
  const std::shared_ptr<const job::snapshot> running = work.view();
  context.reset();
  const std::shared_ptr<const job::snapshot> after = work.view();
  CHECK(after->has_ended);
  CHECK(after->state == worker_state::stopped);
  for (const auto& each : after->workers) CHECK_FALSE(each.is_running);
  std::ostringstream out;
  work.dump(out);
  CHECK(out.str().find("agent: ended") == 0);
  CHECK(out.str().find("runs") == std::string::npos);
  CHECK(::kill(running->workers.at(0).pid, 0) != 0);
}

std::string dump_of(const job& work) {
  std::ostringstream out;
  work.dump(out);
  return out.str();
}

TEST_CASE("job: a dump needs no answer of the job's strand", "[integration][agent]") {
  program host({"hang"});
  std::optional<job> work;
  std::string running;
  std::shared_ptr<const job::snapshot> view;
  // The strand does nothing else until this returns.
  host.observer->on_start = [&] {
    work->stop();
    std::thread([&] {
      view = work->view();
      running = dump_of(*work);
    }).join();
  };
  work.emplace(host.context.get_executor(), host.config, host.services);
  CHECK(dump_of(*work) == "agent: not begun\n");
  host.run(*work);
  CHECK(running.find("agent: the workers run") == 0);
  CHECK(running.find("round 0, node 0 of 1; restarts: 0 of 0") != running.npos);
  CHECK(running.find("requests that its strand has not taken: 1\n") != running.npos);
  REQUIRE(view);
  for (const job::snapshot::worker& each : view->workers) {
    const std::string line = fmt::format("rank {}, pid {}: runs", each.rank, each.pid);
    CHECK(running.find(line) != running.npos);
  }
  const std::string after = dump_of(*work);
  CHECK(after.find("agent: ended") == 0);
  CHECK(after.find("requests that") == after.npos);
  CHECK(after.find("with SIGTERM") != after.npos);
}

TEST_CASE("job: a view counts restarts", "[integration][agent]") {
  program host({"exit", "1"});
  host.config.workers.max_restarts = 1;
  job work(host.context.get_executor(), host.config);
  CHECK(host.run(work).restarts == 1);
  CHECK(work.view()->restarts == 1);
  CHECK(work.view()->round == 1);
  CHECK(work.view()->state == worker_state::failed);
}

TEST_CASE("job: it meets by a backend of its own", "[integration][agent]") {
  program host({"exit", "0"});
  host.config.standalone = false;
  host.config.rendezvous.backend = "mine";
  const auto backends = std::make_shared<elastic::rendezvous_registry>();
  int made = 0;
  backends->add("mine", [&made](const elastic::rendezvous_parameters& parameters) {
    ++made;
    elastic::rendezvous_parameters known = parameters;
    known.backend = "c10d";
    known.endpoint = "localhost:0";
    known.run_id = "mine";
    return elastic::rendezvous_registry().make(known);
  });
  host.services.backends = backends;
  job work(host.context.get_executor(), host.config, host.services);
  CHECK(host.run(work).state == worker_state::succeeded);
  CHECK(made == 1);
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
