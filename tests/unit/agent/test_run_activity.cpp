// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What `local_agent::dump` shows after each event of a journal, in a time of its own.

#include <elastic/agent/detail/run/run_activity.hpp>

#include <elastic/telemetry/job_event.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace run_activity_tests {

using namespace std::chrono_literals;
using elastic::job_event;
using elastic::time_point;
using elastic::detail::run_activity;
using type = job_event::type;

constexpr time_point begin_time{1h};

job_event of(type kind, std::string state = {}, std::string reason = {}) {
  job_event event;
  event.kind = kind;
  event.state = std::move(state);
  event.reason = std::move(reason);
  return event;
}

job_event workers_started(std::int64_t base_rank, std::vector<std::int64_t> pids) {
  job_event event = of(type::workers_started);
  event.base_rank = base_rank;
  event.pids = std::move(pids);
  return event;
}

job_event about_worker(type kind, std::int64_t pid, std::string reason = {}) {
  job_event event = of(kind, {}, std::move(reason));
  event.pid = pid;
  return event;
}

/// One event each second, and the lines two seconds after the last.
std::vector<std::string> lines_after(const std::vector<job_event>& events) {
  run_activity activity;
  time_point now = begin_time;
  for (const job_event& event : events) activity.take(event, now += 1s);
  const std::string text = activity.text(now + 2s);
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("dump: a run that has not begun awaits nothing", "[agent]") {
  CHECK(lines_after({}) == std::vector<std::string>{"not begun"});
}

TEST_CASE("dump: each step counts from its own event", "[agent]") {
  const auto events = {of(type::agent_started), of(type::rendezvous_started),
                       of(type::worker_suspected)};
  // The last event begins no step.
  CHECK(has(lines_after(events)[0], "joining a round for 3.0 s"));
  CHECK(has(lines_after({of(type::exit_barrier_started)})[0], "exit barrier for 2.0 s"));
}

TEST_CASE("dump: only a run that joins a round says where the nodes meet", "[agent]") {
  run_activity activity;
  const auto text = [&] { return activity.text(begin_time + 5s, "2 nodes meet at host0:29400"); };
  CHECK_FALSE(has(text(), "host0"));
  activity.take(of(type::rendezvous_started), begin_time);
  CHECK(text() == "joining a round for 5.0 s\n  2 nodes meet at host0:29400\n");
  activity.take(of(type::round_joined), begin_time);
  CHECK_FALSE(has(text(), "host0"));
  activity.end(begin_time + 3s);
  CHECK(text() == "ended\n");
}

TEST_CASE("dump: each step has its words", "[agent]") {
  for (const auto& [kind, step] : elastic::detail::run_steps) {
    CHECK(lines_after({of(kind)})[0] == std::string(step) + " for 2.0 s");
  }
}

TEST_CASE("dump: a step has its state and its reason", "[agent]") {
  CHECK(has(lines_after({of(type::round_ended, "node_lost", "node b is lost")})[0],
            "(node_lost: node b is lost)"));
  CHECK(has(lines_after({of(type::workers_judged, "failed")})[0], "(failed)"));
  CHECK(has(lines_after({of(type::restart_decided, {}, "one of three")})[0], "(one of three)"));
}

TEST_CASE("dump: a round has its number, its nodes and the restarts", "[agent]") {
  job_event joined = of(type::round_joined);
  joined.round = 3;
  joined.group_rank = 1;
  joined.group_world_size = 2;
  job_event decided = of(type::restart_decided);
  decided.round = 3;
  decided.restarts = 1;
  decided.max_restarts = 4;
  CHECK(has(lines_after({joined, decided})[1], "round 3, node 1 of 2; restarts: 1 of 4"));
}

TEST_CASE("dump: a worker has its rank and its process, and how it ended", "[agent]") {
  job_event ended = about_worker(type::worker_ended, 71);
  ended.exit_code = 5;
  const auto lines = lines_after({workers_started(2, {70, 71}), ended});
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == "  rank 2, pid 70: runs for 3.0 s");
  CHECK(has(lines[2], "rank 3, pid 71: "));
  CHECK(has(lines[2], elastic::exit_status::exited(5).text()));
  CHECK(has(lines[2], "for 2.0 s"));
  ended.exit_code.reset();
  CHECK(has(lines_after({workers_started(0, {71}), ended})[1],
            elastic::exit_status::unknown().text()));
  ended.signal = SIGSEGV;
  CHECK(has(lines_after({workers_started(0, {71}), ended})[1], "SIGSEGV"));
}

TEST_CASE("dump: a run has nothing of an earlier one with the same journal", "[agent]") {
  job_event joined = of(type::round_joined);
  joined.round = 3;
  const std::vector<job_event> events = {joined, workers_started(0, {70}), of(type::stop_requested),
                                         of(type::agent_started)};
  CHECK(lines_after(events) == std::vector<std::string>{"beginning for 2.0 s"});
}

TEST_CASE("dump: a run that is dropped with its context has ended, and its workers too",
          "[agent]") {
  run_activity activity;
  activity.take(workers_started(0, {70, 71}), begin_time);
  activity.take(about_worker(type::worker_ended, 70), begin_time + 1s);
  activity.end(begin_time + 2s);
  CHECK(activity.has_ended);
  CHECK(activity.state == elastic::worker_state::stopped);
  CHECK(has(activity.text(begin_time + 4s), "pid 71: stopped for 2.0 s"));
  // One that has returned keeps its state.
  activity.take(of(type::agent_ended, "failed"), begin_time);
  activity.end(begin_time + 2s);
  CHECK(activity.state == elastic::worker_state::failed);
}

TEST_CASE("dump: a hung worker has the reason", "[agent]") {
  const auto hung = about_worker(type::worker_hung, 70, "no heartbeat");
  CHECK(has(lines_after({workers_started(0, {70}), hung})[1], "hung: no heartbeat for 2.0 s"));
}

TEST_CASE("dump: workers that are being stopped have the signal, those that ended have not",
          "[agent]") {
  job_event stopping = of(type::workers_stopping);
  stopping.signal = SIGTERM;
  stopping.allowed = 30;
  const std::vector<job_event> events = {workers_started(0, {70, 71}),
                                         about_worker(type::worker_ended, 70), stopping};
  auto lines = lines_after(events);
  CHECK(has(lines[0], "stopping the workers for 2.0 s"));
  CHECK_FALSE(has(lines[1], "SIGTERM"));
  CHECK(has(lines[2], "pid 71: runs for 4.0 s, SIGTERM 2.0 s ago with 30.0 s until SIGKILL"));
  auto more = events;
  more.push_back(of(type::workers_stopped));
  lines = lines_after(more);
  CHECK(has(lines[2], "pid 71: stopped for 2.0 s"));
  CHECK_FALSE(has(lines[2], "SIGTERM"));
}

TEST_CASE("dump: a request to stop has its signal and its reason", "[agent]") {
  job_event request = of(type::stop_requested, {}, "Ctrl-C");
  request.signal = SIGINT;
  const auto lines = lines_after({workers_started(0, {70}), request});
  CHECK(has(lines[0], "the workers run for 3.0 s"));
  CHECK(has(lines[1], "asked to stop 2.0 s ago, with SIGINT: Ctrl-C"));
}

TEST_CASE("dump: a replica that restarts alone has its new process", "[agent]") {
  job_event replaced = about_worker(type::ranks_replaced, 80);
  replaced.rank = 1;
  const auto lines =
      lines_after({workers_started(0, {70, 71}), of(type::restart_decided), replaced});
  CHECK(has(lines[0], "the workers run for 2.0 s"));
  CHECK(lines[1] == "  rank 0, pid 70: runs for 4.0 s");
  CHECK(lines[2] == "  rank 1, pid 80: runs for 2.0 s");
  // Ranks of a world that were replaced have no process of their own in this event.
  replaced.pid.reset();
  CHECK(lines_after({workers_started(0, {70, 71}), replaced}).at(2) ==
        "  rank 1, pid 71: runs for 3.0 s");
}

TEST_CASE("dump: the next attempt has other workers", "[agent]") {
  job_event stopping = of(type::workers_stopping);
  stopping.signal = SIGTERM;
  const auto lines =
      lines_after({workers_started(0, {70, 71}), stopping, workers_started(0, {90})});
  REQUIRE(lines.size() == 2);
  CHECK(lines[1] == "  rank 0, pid 90: runs for 2.0 s");
}

}  // namespace run_activity_tests
