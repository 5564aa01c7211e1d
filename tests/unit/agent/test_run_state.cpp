// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What `job::view` shows after each event of a job's journal.

#include <elastic/agent/detail/run/run_activity.hpp>

#include <elastic/telemetry/job_event.hpp>
#include <support/catch.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace job_state_tests {

using elastic::exit_status;
using elastic::job_event;
using elastic::worker_state;
using elastic::detail::run_activity;
using type = job_event::type;

job_event round_joined(std::int64_t round) {
  job_event event;
  event.kind = type::round_joined;
  event.round = round;
  event.group_rank = 1;
  event.group_world_size = 2;
  event.world_size = 4;
  return event;
}

job_event workers_started(std::int64_t round, std::vector<std::int64_t> pids) {
  job_event event = round_joined(round);
  event.kind = type::workers_started;
  event.base_rank = 2;
  event.pids = std::move(pids);
  return event;
}

job_event worker_ended(std::int64_t pid, std::int64_t code) {
  job_event event;
  event.kind = type::worker_ended;
  event.pid = pid;
  event.exit_code = code;
  return event;
}

job_event of(type kind, std::string state = {}) {
  job_event event;
  event.kind = kind;
  event.state = std::move(state);
  return event;
}

run_activity after(const std::vector<job_event>& events) {
  run_activity state;
  for (const job_event& event : events) state.take(event, {});
  return state;
}

TEST_CASE("job view: a round has its numbers before its workers run", "[launch]") {
  const run_activity state = after({round_joined(3)});
  CHECK(state.state == worker_state::init);
  CHECK(state.round == 3);
  CHECK(state.group_rank == 1);
  CHECK(state.group_world_size == 2);
  CHECK(state.world_size == 4);
  CHECK(state.workers.empty());
}

TEST_CASE("job view: workers have the ranks that follow the node's first", "[launch]") {
  const run_activity state = after({round_joined(0), workers_started(0, {70, 71})});
  CHECK(state.state == worker_state::healthy);
  REQUIRE(state.workers.size() == 2);
  CHECK(state.workers[1].rank == 3);
  CHECK(state.workers[1].pid == 71);
}

TEST_CASE("job view: a worker that ended has its status, the others run", "[launch]") {
  const run_activity state = after({workers_started(0, {70, 71}), worker_ended(71, 5)});
  CHECK(state.workers[1].end == exit_status::exited(5));
  CHECK_FALSE(state.workers[1].is_running);
  CHECK_FALSE(state.workers[0].end);
  CHECK(state.workers[0].is_running);
  CHECK(state.state == worker_state::healthy);
}

TEST_CASE("job view: the worker of a signal has it, and of neither an unknown end", "[launch]") {
  job_event killed = worker_ended(70, 0);
  killed.exit_code.reset();
  CHECK(after({workers_started(0, {70}), killed}).workers[0].end == exit_status::unknown());
  killed.signal = 9;
  CHECK(after({workers_started(0, {70}), killed}).workers[0].end == exit_status::signalled(9));
}

TEST_CASE("job view: workers that the agent has stopped do not run, without a status", "[launch]") {
  const run_activity state =
      after({workers_started(0, {70, 71}), worker_ended(71, 5), of(type::workers_stopped)});
  CHECK_FALSE(state.workers[0].is_running);
  CHECK_FALSE(state.workers[0].end);
  CHECK(state.workers[1].end == exit_status::exited(5));
}

TEST_CASE("job view: the next attempt has other workers", "[launch]") {
  job_event restart = of(type::restart_decided);
  restart.restarts = 1;
  const std::vector<job_event> events = {workers_started(0, {70, 71}), worker_ended(70, 1),
                                         of(type::workers_judged, "failed"),
                                         of(type::round_ended, "worker_failed"), restart};
  run_activity state = after({events[0], events[1], events[2]});
  CHECK(state.state == worker_state::failed);
  state = after(events);
  CHECK(state.state == worker_state::init);
  CHECK(state.restarts == 1);
  CHECK(state.workers.size() == 2);
  state.take(workers_started(1, {80, 81}), {});
  CHECK(state.state == worker_state::healthy);
  CHECK(state.round == 1);
  CHECK(state.workers[0].pid == 80);
  CHECK_FALSE(state.workers[0].end);
  CHECK_FALSE(state.has_ended);
}

TEST_CASE("job view: the end of the agent is that of the job", "[launch]") {
  const auto [name, expected] =
      GENERATE(table<std::string, worker_state>({{"succeeded", worker_state::succeeded},
                                                 {"failed", worker_state::failed},
                                                 {"stopped", worker_state::stopped}}));
  const run_activity state = after({workers_started(0, {70}), of(type::agent_ended, name)});
  CHECK(state.has_ended);
  CHECK(state.state == expected);
}

}  // namespace job_state_tests
