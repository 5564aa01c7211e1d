// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The shell of the notice judge, among fake workers.

#include <elastic/diagnosis/detail/notice_watch.hpp>

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/race.hpp>
#include <elastic/diagnosis/job_diagnosis.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace notice_watch_test {

using namespace std::chrono_literals;
using detail::notice_watch;
using detail::worker_look;
using test::manual_time;

/// Two workers of a node, of which nothing is ever seen but what a test says.
class stage {
 public:
  stage(manual_time& time, asio::any_io_executor executor, std::string error_file = {})
      : error_file_(std::move(error_file)),
        context_(context_at(time, std::move(executor))),
        watch_(terms(), context_, nullptr, [this](worker_look asked, wall_time) {
          ++looks_;
          return as_asked(std::move(asked));
        }) {}

  notice_watch& watch() { return watch_; }
  int looks() const { return looks_; }
  const test::log_recorder& log() const { return *log_; }
  std::vector<journal_record> journal() const { return context_.journal->after(0); }

 private:
  static job_diagnosis terms() {
    job_diagnosis terms;
    terms.notices = true;
    terms.node_name = "node3";
    return terms;
  }

  static task<worker_look> as_asked(worker_look asked) { co_return asked; }

  agent_part::context context_at(manual_time& time, asio::any_io_executor executor) {
    agent_part::context context;
    context.strand = context.executor = std::move(executor);
    context.time = time.share();
    context.log = logger(log_, log_level::warning);
    context.journal = std::make_shared<job_journal>(job_journal::options{"node3", time.share()});
    context.workers = [this] {
      std::vector<agent_part::attempt_worker> workers(2);
      workers[1].rank = workers[1].local_rank = 1;
      workers[1].error_file = error_file_;
      for (agent_part::attempt_worker& each : workers) each.pid = 100 + each.rank;
      return workers;
    };
    context.last_stderr = [](int) { return std::vector<std::string>(); };
    return context;
  }

  std::shared_ptr<test::log_recorder> log_ = std::make_shared<test::log_recorder>();
  int looks_ = 0;
  /// That of rank 1.
  std::string error_file_;
  agent_part::context context_;
  notice_watch watch_;
};

task<void> fail_often(stage& node, std::shared_ptr<time_source> time) {
  for (int line = 0; line < 1000; ++line) {
    node.watch().failing();
    co_await time->sleep_until(time->now() + 1ms);
  }
}

TIME_TEST("notice watch: rests between looks, however much a worker writes", "[diagnosis]") {
  stage node(time, co_await asio::this_coro::executor);
  co_await race(node.watch().run(), fail_often(node, time.share()));
  CHECK(node.looks() >= 9);
  CHECK(node.looks() <= 11);
}

TIME_TEST("notice watch: takes no look before the first sign", "[diagnosis]") {
  stage node(time, co_await asio::this_coro::executor);
  co_await race(node.watch().run(), time.sleep_until(time.now() + 24h));
  CHECK(node.looks() == 0);
}

/// How many instances of inotify this process has.
std::ptrdiff_t count_watches() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::count_if(begin(all), end(all), [](const auto& entry) {
    std::error_code gone;
    return std::filesystem::read_symlink(entry.path(), gone).string().ends_with("inotify");
  });
}

TIME_TEST("notice watch: asks the kernel for error files when workers have run for 2 s",
          "[diagnosis]") {
  const test::temporary_directory folder;
  stage node(time, co_await asio::this_coro::executor, folder / "error.json");
  const std::ptrdiff_t before = count_watches();
  co_await race(node.watch().run(), time.sleep_until(time.now() + 1900ms));
  CHECK(count_watches() == before);
  // A file that was written before is seen, too.
  std::ofstream(folder / "error.json") << "{}";
  co_await race(node.watch().run(), time.sleep_until(time.now() + 3s));
  CHECK(node.looks() > 0);
  CHECK(count_watches() == before + 1);
  // The next attempt asks the same one.
  co_await race(node.watch().run(), time.sleep_until(time.now() + 3s));
  CHECK(count_watches() == before + 1);
}

task<void> end_elsewhere(stage& node, std::shared_ptr<time_source> time) {
  co_await time->sleep_until(time->now() + 10s);
  node.watch().ended_elsewhere({4, 5, 6}, time->now() - 4500ms);
  // Only one node tells, so this is none of a well-meaning one.
  node.watch().ended_elsewhere({7}, time->now());
  // It counts from the first look, which it takes when other ends may have been told, too.
  co_await time->sleep_until(time->now() + 61s);
}

TIME_TEST("notice watch: says that ranks of another node have ended, once", "[diagnosis]") {
  stage node(time, co_await asio::this_coro::executor);
  co_await race(node.watch().run(), end_elsewhere(node, time.share()));
  const std::string line =
      "ranks 4-6 have ended, the last one 65 s ago (exit code 0), and ranks 0-1 (node3) have made "
      "no step and no output for 60 s; start with --diagnose to see where";
  CHECK(node.log().has(line));
  const std::vector<journal_record> records = node.journal();
  REQUIRE(records.size() == 1);
  CHECK(records[0].event.kind == job_event::type::notice_given);
  CHECK(records[0].event.state == "unfinished");
  CHECK(records[0].event.reason == line);
  CHECK(records[0].event.rank == 0);
  CHECK(records[0].event.count == 2);
}

}  // namespace notice_watch_test

}  // namespace
}  // namespace elastic
