// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/worker_meter.hpp>

#include <elastic/status/detail/job_monitor_core.hpp>
#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace worker_meter_tests {

using elastic::duration;
using elastic::detail::job_monitor_core;
using elastic::detail::report_demand;
using elastic::detail::viewed_worker;
using elastic::detail::worker_meter;
using elastic::detail::worker_reading;
using elastic::detail::worker_usage;
using elastic::test::contains_text;
using elastic::test::journal_story;
using namespace std::chrono_literals;
using condition = viewed_worker::condition;

/// A clock that the test sets.
class set_clock final : public elastic::time_source {
 public:
  elastic::time_point now() const override { return time; }
  elastic::wall_time wall_now() const override { return elastic::wall_time(wall); }
  elastic::task<void> sleep_until(elastic::time_point) override { co_return; }

  elastic::time_point time{};
  std::chrono::system_clock::duration wall = 1'700'000'000s;
};

/// Processes that use what the test says, and the time that it takes to read one.
struct stage {
  worker_meter meter{[this](pid_t pid) -> std::optional<worker_reading> {
    ++reads;
    clock.time += cost;
    const auto found = processes.find(pid);
    if (found == processes.end()) return std::nullopt;
    return found->second;
  }};

  /// What workers use, by local rank, as a look finds out.
  std::map<std::size_t, worker_usage> look(const std::vector<viewed_worker>& workers) {
    std::map<std::size_t, worker_usage> found;
    for (const auto& [place, usage] : meter.look(workers, clock)) found[place] = usage;
    return found;
  }

  set_clock clock;
  std::map<pid_t, worker_reading> processes;
  duration cost{};
  int reads = 0;
};

viewed_worker worker(std::int64_t pid, condition state = condition::running) {
  viewed_worker result;
  result.pid = pid;
  result.state = state;
  return result;
}

TEST_CASE("worker meter: processors are an average since the look before", "[status]") {
  stage at;
  at.processes = {{10, {5s, 1000}}, {11, {std::nullopt, 2000}}};
  const std::vector<viewed_worker> workers{worker(10), worker(11), worker(12), worker(0),
                                           worker(10, condition::failed)};
  auto found = at.look(workers);
  CHECK(found == std::map<std::size_t, worker_usage>{{0, {-1, 1000}}, {1, {-1, 2000}}});
  at.clock.time += 4s;
  at.processes = {{10, {11s, 1500}}, {11, {1s, 2000}}, {12, {1s, 3000}}};
  found = at.look(workers);
  CHECK(found == std::map<std::size_t, worker_usage>{
                     {0, {1.5, 1500}}, {1, {-1, 2000}}, {2, {-1, 3000}}});
  // A process that nobody waited for has taken its time along; another process has the place.
  at.clock.time += 4s;
  at.processes = {{10, {9s, 1500}}, {13, {7s, 100}}};
  found = at.look({worker(10), worker(13)});
  CHECK(found == std::map<std::size_t, worker_usage>{{0, {0, 1500}}, {1, {-1, 100}}});
}

TEST_CASE("worker meter: it looks at most every two seconds, however often it is asked",
          "[status]") {
  stage at;
  at.processes = {{10, {5s, 1000}}};
  const std::vector<viewed_worker> workers{worker(10)};
  CHECK(at.look(workers).size() == 1);
  at.clock.time += 1999ms;
  CHECK(at.look(workers).empty());
  CHECK(at.reads == 1);
  at.clock.time += 1ms;
  CHECK(at.look(workers).size() == 1);
  CHECK(at.reads == 2);
  at.clock.time += 2s;
  CHECK(at.look({}).empty());
}

TEST_CASE("worker meter: thousands of workers take a hundredth of the time, and all get a turn",
          "[status]") {
  constexpr std::size_t count = 4096;
  stage at;
  at.cost = 50us;
  std::vector<viewed_worker> workers;
  for (std::size_t place = 0; place < count; ++place) {
    workers.push_back(worker(static_cast<std::int64_t>(place) + 1));
    at.processes[static_cast<pid_t>(place) + 1] = {1s, 1000};
  }
  std::map<std::size_t, worker_usage> seen;
  const elastic::time_point began = at.clock.time;
  duration spent{};
  while (seen.size() < count) {
    const int before = at.reads;
    seen.merge(at.look(workers));
    const duration look = (at.reads - before) * at.cost;
    CHECK(look <= 10ms);
    spent += look;
    at.clock.time += 100ms;
    REQUIRE(at.clock.time - began < 10min);
  }
  CHECK(100 * spent <= at.clock.time - began + 2s);
}

TEST_CASE("worker meter: /proc shows what this process uses", "[status]") {
  const auto before = elastic::detail::read_process_usage(::getpid());
  REQUIRE(before);
  REQUIRE(before->processor_time);
  CHECK(before->memory_bytes > 1024 * 1024);
  std::vector<char> memory(64 * 1024 * 1024, 'x');
  std::optional<worker_reading> after = before;
  for (volatile std::uint64_t work = 0; *after->processor_time <= *before->processor_time;) {
    for (int turn = 0; turn < 10'000'000; ++turn) work = work + 1;
    after = elastic::detail::read_process_usage(::getpid());
    REQUIRE(after);
    REQUIRE(after->processor_time);
  }
  CHECK(after->memory_bytes >= before->memory_bytes + 32 * 1024 * 1024);
  CHECK(memory.back() == 'x');
  CHECK_FALSE(elastic::detail::read_process_usage(2'000'000'000));
}

/// The records of a job whose only worker is this process.
std::vector<elastic::journal_record> own_story() {
  journal_story story;
  story.begin().start(1, 1);
  story.records.back().event.pids = {::getpid()};
  return story.records;
}

TEST_CASE("job monitor: workers are measured for who looks at the job, and for nobody else",
          "[status]") {
  const auto clock = std::make_shared<set_clock>();
  job_monitor_core monitor(clock);
  for (const elastic::journal_record& record : own_story()) monitor.take(record);
  const auto memory = [&] { return monitor.view()->workers()[0].usage.memory_bytes; };
  monitor.demanded(report_demand::changes);
  CHECK_FALSE(monitor.next_report().empty());
  CHECK(memory() == 0);
  CHECK(monitor.look()->workers()[0].usage.memory_bytes > 0);
  CHECK(monitor.view()->workers()[0].usage.processors < 0);
  clock->time += 5s;
  CHECK(monitor.look()->workers()[0].usage.processors >= 0);
}

TEST_CASE("job monitor: a node tells what its workers use while somebody follows the job",
          "[status]") {
  const auto clock = std::make_shared<set_clock>();
  job_monitor_core monitor(clock);
  for (const elastic::journal_record& record : own_story()) monitor.take(record);
  monitor.demanded(report_demand::changes);
  CHECK_THAT(monitor.next_report(), !contains_text("usage"));
  monitor.demanded(report_demand::progress);
  CHECK_THAT(monitor.next_report(), contains_text("\"usage\": [[0,-1,"));
  CHECK(monitor.next_report().empty());
}

}  // namespace worker_meter_tests
