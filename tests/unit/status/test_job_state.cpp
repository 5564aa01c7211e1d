// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/job_state.hpp>

#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace job_state_tests {

using elastic::job_event;
using elastic::detail::agent_activity;
using elastic::detail::attempt_end;
using elastic::detail::job_state;
using elastic::detail::state_of;
using elastic::detail::time_use;
using elastic::test::approximately;
using elastic::test::journal_story;
using condition = elastic::detail::job_worker::condition;

TEST_CASE("job state: the failure that ends a job is no restart", "[status]") {
  journal_story story;
  story.begin().start(0, 2).end_worker(1, 1).restart(1).start(1, 2, 1).end_worker(1, 1);
  job_event ended = journal_story::of(job_event::type::round_ended, "rank 1 failed");
  ended.restarts = 2;
  job_event failed = journal_story::of(job_event::type::failure_decided, "all are used up");
  failed.restarts = 2;
  story.tell(ended).tell(failed).end("failed");
  CHECK(state_of(story.records).restarts() == 1);
}

TEST_CASE("job state: each way in which an attempt ends", "[status]") {
  struct row {
    job_event::type kind;
    const char* how;
    attempt_end end;
  };
  const auto [kind, how, end] =
      GENERATE(values<row>({{job_event::type::round_ended, "node_waiting", attempt_end::membership},
                            {job_event::type::round_ended, "node_lost", attempt_end::membership},
                            {job_event::type::round_ended, "paused", attempt_end::request},
                            {job_event::type::round_ended, "worker_failed", attempt_end::failure},
                            {job_event::type::stop_requested, "", attempt_end::request},
                            {job_event::type::workers_judged, "succeeded", attempt_end::success},
                            {job_event::type::workers_judged, "failed", attempt_end::none},
                            {job_event::type::worker_hung, "", attempt_end::hang}}));
  journal_story story;
  story.begin().start(1, 2);
  job_event event = journal_story::of(kind, "because");
  event.state = how;
  if (kind == job_event::type::worker_hung) event.local_rank = 1;
  story.tell(event);
  const job_state state = state_of(story.records);
  CHECK(state.attempts().back().end == end);
  CHECK((state.activity() == agent_activity::running) == (end == attempt_end::none));
}

TEST_CASE("job state: takes the journal of an older version, with ends before the start",
          "[status]") {
  journal_story story;
  story.begin();
  const bool are_replicas = GENERATE(false, true);
  if (are_replicas) {
    story.records.back().event.backend = "replicas";
  } else {
    story.start(0, 2);
    story.records.pop_back();
    story.records.pop_back();
  }
  story.tell(journal_story::of(job_event::type::workers_starting));
  story.end_worker(0, 0).end_worker(1, 3);
  job_event started_event = journal_story::of(job_event::type::workers_started);
  started_event.local_world_size = 2;
  started_event.pids = {300, 301};
  const job_state state = state_of(story.tell(started_event).records);
  REQUIRE(state.workers().size() == 2);
  CHECK(state.workers()[0].pid == 300);
  CHECK(state.exits().at("exit:0") == 1);
  CHECK(state.exits().at("exit:3") == 1);
}

TEST_CASE("job state: a worker that ends during a start that fails has ended", "[status]") {
  journal_story story;
  story.begin().start(0, 2);
  story.records.pop_back();
  story.end_worker(1, 3).end("failed", "no such program");
  const job_state state = state_of(story.records);
  CHECK(state.workers()[1].state == condition::failed);
  CHECK(state.activity() == agent_activity::failed);
  CHECK(state.exits().at("exit:3") == 1);
}

TEST_CASE("job state: a hung worker is the cause of its own death", "[status]") {
  journal_story story;
  story.begin().start(1, 2);
  job_event hang_event = journal_story::of(job_event::type::worker_hung, "no heartbeat for 9 s");
  hang_event.rank = 1;
  hang_event.local_rank = 1;
  story.tell(hang_event).end_worker(1, 0, 9);
  const job_state state = state_of(story.records);
  CHECK(state.workers()[1].state == condition::hung);
  CHECK(state.attempts().back().reason == "rank 1 was hung: no heartbeat for 9 s");
}

TEST_CASE("job state: the end of the agent is the last word", "[status]") {
  const auto [word, activity] =
      GENERATE(table<std::string, agent_activity>({{"succeeded", agent_activity::succeeded},
                                                   {"failed", agent_activity::failed},
                                                   {"stopped", agent_activity::stopped},
                                                   {"", agent_activity::failed}}));
  journal_story story;
  story.begin().start(1, 1).wait(5).end(word, "because");
  const job_state state = state_of(story.records);
  CHECK(state.activity() == activity);
  CHECK(state.has_ended());
  CHECK(state.reason() == "because");
  CHECK(state.seconds(time_use::training, story.now_us + 1'000'000'000) == approximately(5));
}

TEST_CASE("job state: records are taken once, and another agent's begin anew", "[status]") {
  journal_story story;
  story.begin().start(1, 2).end_worker(1, 1);
  job_state state = state_of(story.records);
  for (const elastic::journal_record& record : story.records) state.take(record);
  CHECK(state.exits().at("exit:1") == 1);
  elastic::journal_record later_record = story.records.front();
  later_record.epoch = 8;
  state.take(later_record);
  CHECK(state.sequence() == 1);
  CHECK(state.workers().empty());
  CHECK(state.activity() == agent_activity::starting);
}

TEST_CASE("job state: a journal whose beginning is lost has the attempt that it ends", "[status]") {
  journal_story story;
  story.begin().start(3, 2).wait(10).end_worker(1, 1).restart(1);
  // Only the end of the worker, and what followed.
  story.records.erase(story.records.begin(), story.records.end() - 5);
  REQUIRE(story.records.front().event.kind == job_event::type::worker_ended);
  story.records.front().event.round = 3;
  const job_state state = state_of(story.records);
  REQUIRE(state.attempts().size() == 1);
  CHECK(state.attempts()[0].round == 3);
  CHECK(state.attempts()[0].end == attempt_end::failure);
  CHECK(state.attempts()[0].is_restarted == true);
}

TEST_CASE("job state: keeps as many attempts and failures as it is told to", "[status]") {
  journal_story story;
  story.begin();
  for (std::int64_t round = 0; round < 3; ++round) {
    story.start(round, 3, round).wait(10).end_worker(0, 1).end_worker(2, 1).restart(round + 1);
  }
  job_state state(elastic::detail::state_bounds{2, 1});
  for (const elastic::journal_record& record : story.records) state.take(record);
  REQUIRE(state.attempts().size() == 2);
  for (const elastic::detail::job_attempt& attempt : state.attempts()) {
    REQUIRE(attempt.failures.size() == 1);
    CHECK(attempt.root_cause() == &attempt.failures.front());
    CHECK(attempt.failures.front().rank == 0);
    CHECK(attempt.work_seconds == approximately(10));
  }
  CHECK(state.attempts()[1].round == 2);
  // Documents do without them.
  CHECK(state_of(story.records).attempts().back().root_cause() == nullptr);
}

TEST_CASE("job state: a worker has succeeded by its exit code or by its state", "[status]") {
  journal_story story;
  story.begin().start(0, 2).end_worker(0, 0);
  job_event ended = journal_story::of(job_event::type::worker_ended);
  ended.local_rank = 1;
  ended.state = "succeeded";
  story.tell(ended);
  job_state state(elastic::detail::state_bounds{1, 1});
  for (const elastic::journal_record& record : story.records) state.take(record);
  CHECK(state.workers()[0].state == condition::succeeded);
  CHECK(state.workers()[1].state == condition::succeeded);
  CHECK(state.attempts()[0].failures.empty());
  CHECK(state.attempts()[0].end == attempt_end::none);
}

TEST_CASE("job state: an attempt has the stalls that its node found, and its fence", "[status]") {
  journal_story story;
  story.begin().start(0, 2);
  job_event found = journal_story::of(job_event::type::stall_found, "rank 1 is stopped");
  found.rank = 1;
  found.elsewhere = GENERATE(0, 1);
  story.tell(found);
  job_state state(elastic::detail::state_bounds{2, 2});
  for (const elastic::journal_record& record : story.records) state.take(record);
  CHECK(state.is_stalled());
  REQUIRE(state.stall());
  CHECK(state.stall()->event == found);
  CHECK(state.attempts()[0].stalls.size() == (found.elsewhere == 1 ? 0 : 1));
  CHECK_FALSE(state.attempts()[0].is_fenced);
  state.take(story.tell(journal_story::of(job_event::type::fence_reached)).records.back());
  CHECK(state.attempts()[0].is_fenced);
  state.take(story.tell(journal_story::of(job_event::type::rendezvous_started)).records.back());
  CHECK_FALSE(state.is_stalled());
  CHECK(state.stall()->event == found);
}

TEST_CASE("job state: the role of a job of several, and the run id of one without", "[status]") {
  journal_story story;
  story.begin();
  story.records[0].event.run_id = "grpo/trainer_1";
  CHECK(state_of(story.records).role_of_job() == "trainer");
  story.start(0, 1);
  const bool has_roles = GENERATE(false, true);
  for (elastic::journal_record& record : story.records) {
    if (has_roles) record.event.role = "trainer";
  }
  // Later records name a role only if there are several, whatever the run id is.
  CHECK(state_of(story.records).role_of_job() == (has_roles ? "trainer" : ""));
  CHECK(state_of(story.records).role() == "trainer");
}

TEST_CASE("job state: its phases", "[status]") {
  using elastic::detail::agent_phase;
  job_state state;
  journal_story story;
  std::vector<agent_phase> phases{state.phase()};
  story.begin().start(0, 1).end_worker(0, 1).restart(1).start(1, 1, 1).end("stopped");
  for (const elastic::journal_record& record : story.records) {
    state.take(record);
    if (state.phase() != phases.back()) phases.push_back(state.phase());
  }
  CHECK(phases == std::vector<agent_phase>{agent_phase::rest, agent_phase::rendezvous,
                                           agent_phase::start, agent_phase::work, agent_phase::stop,
                                           agent_phase::wait, agent_phase::rendezvous,
                                           agent_phase::start, agent_phase::work,
                                           agent_phase::rest});
}

TEST_CASE("job state: a replica that starts again has another process, and the rest keep theirs",
          "[status]") {
  journal_story story;
  story.begin().start(0, 2).wait(10).end_worker(1, 0, 9);
  job_event decided = journal_story::of(job_event::type::restart_decided, "restart 1 of 3");
  decided.restarts = 1;
  story.tell(decided).wait(1);
  job_event again = journal_story::of(job_event::type::ranks_replaced);
  again.rank = 1;
  again.ranks = {1};
  again.pid = 4711;
  again.seconds = 1;
  story.tell(again).wait(5);
  const job_state state = state_of(story.records);
  CHECK(state.activity() == agent_activity::running);
  CHECK(state.reason().empty());
  REQUIRE(state.workers().size() == 2);
  CHECK(state.workers()[0].pid == 0);
  CHECK(state.workers()[1].pid == 4711);
  CHECK(state.workers()[1].state == condition::running);
  CHECK_FALSE(state.workers()[1].signal);
  CHECK(state.workers()[1].replacements == 1);
  REQUIRE(state.attempts().size() == 2);
  CHECK(state.attempts()[0].lost_seconds == 1);
  CHECK(state.attempts()[1].end == attempt_end::none);
  CHECK(state.attempts()[1].replaced == std::vector<std::int64_t>{1});
  CHECK(state.seconds(time_use::training, story.now_us) == 15);
}

// ---- what the time went to ----------------------------------------------------------------------

job_event step_event(job_event::type kind, std::int64_t step, double seconds = 0) {
  job_event event = journal_story::of(kind);
  event.step = step;
  event.seconds = seconds;
  return event;
}

/// What was productive, in seconds.
double productive(const job_state& state, const journal_story& story) {
  return state.seconds(time_use::training, story.now_us);
}

TEST_CASE("job state: after a restart workers start, repeat steps, and then make new ones",
          "[status]") {
  journal_story story;
  story.begin().start(0, 2).wait(2).tell(step_event(job_event::type::step_reached, 1)).wait(50);
  story.end_worker(1, 1).restart(1).start(1, 2, 1).wait(8);
  CHECK(productive(state_of(story.records), story) == approximately(50));
  story.tell(step_event(job_event::type::rollback_started, 30)).wait(20);
  story.tell(step_event(job_event::type::step_reached, 51, 34)).wait(5);
  const job_state state = state_of(story.records);
  CHECK(productive(state, story) == approximately(55));
  CHECK(state.seconds(time_use::start, story.now_us) == approximately(1 + 2 + 1 + 8));
  CHECK(state.seconds(time_use::rollback, story.now_us) == approximately(20));
  CHECK(state.seconds(time_use::stop, story.now_us) == approximately(3));
  // From the failure until the workers had caught up.
  CHECK(state.attempts()[0].lost_seconds.value() == approximately(3 + 2 + 1 + 8 + 20));
}

TEST_CASE("job state: an attempt that ends before it catches up was lost as a whole", "[status]") {
  journal_story story;
  story.begin().start(0, 2).tell(step_event(job_event::type::step_reached, 1)).wait(50);
  story.end_worker(1, 1).restart(1).start(1, 2, 1).wait(8).end_worker(1, 1);
  const job_state state = state_of(story.records);
  CHECK(state.attempts()[0].lost_seconds.value() == approximately(3 + 2 + 1 + 8));
  CHECK(productive(state, story) == approximately(50));
}

TEST_CASE("job state: the step that a failure interrupts is lost", "[status]") {
  journal_story story;
  story.begin().start(0, 2).tell(step_event(job_event::type::step_reached, 1)).wait(50);
  story.end_worker(1, 1).wait(2);
  job_event ended = journal_story::of(job_event::type::round_ended, "rank 1 failed");
  ended.state = "worker_failed";
  ended.step = 45;
  ended.seconds = 7;  // 5 of them before the worker ended
  const job_state state = state_of(story.tell(ended).records);
  CHECK(productive(state, story) == approximately(45));
  CHECK(state.seconds(time_use::rollback, story.now_us) == approximately(5));
  CHECK(state.seconds(time_use::stop, story.now_us) == approximately(2));
}

TEST_CASE("job state: a worker that was hung has stalled the job since the last step", "[status]") {
  journal_story story;
  story.begin().start(0, 2).tell(step_event(job_event::type::step_reached, 1)).wait(100);
  job_event hang_event = journal_story::of(job_event::type::worker_hung, "no heartbeat for 60 s");
  hang_event.rank = 1;
  hang_event.local_rank = 1;
  story.tell(hang_event);
  job_event ended = journal_story::of(job_event::type::round_ended, "rank 1 was hung");
  ended.state = "worker_failed";
  ended.seconds = 60;
  const job_state state = state_of(story.tell(ended).records);
  CHECK(productive(state, story) == approximately(40));
  CHECK(state.seconds(time_use::stall, story.now_us) == approximately(60));
}

TEST_CASE("job state: a stall is lost from its beginning on, with or without steps", "[status]") {
  const bool has_steps = GENERATE(false, true);
  journal_story story;
  story.begin().start(0, 2);
  if (has_steps) story.tell(step_event(job_event::type::step_reached, 1));
  story.wait(55 + 30);
  job_event found = journal_story::of(job_event::type::stall_found, "rank 1 is stopped");
  found.seconds = 30;
  story.tell(found).wait(7);
  // Another verdict on the same stall.
  found.seconds = 37;
  story.tell(found).wait(7);
  CHECK(productive(state_of(story.records), story) == approximately(55));
  story.tell(journal_story::of(job_event::type::stall_ended)).wait(10);
  const job_state state = state_of(story.records);
  CHECK(productive(state, story) == approximately(65));
  CHECK(state.seconds(time_use::stall, story.now_us) == approximately(44));
}

TEST_CASE("job state: a stall among repeated steps ends in them", "[status]") {
  journal_story story;
  story.begin().start(0, 2).tell(step_event(job_event::type::step_reached, 9)).wait(50);
  story.end_worker(1, 1).restart(1).start(1, 2, 1);
  story.tell(step_event(job_event::type::rollback_started, 3)).wait(40);
  job_event found = journal_story::of(job_event::type::stall_found, "rank 1 is stopped");
  found.seconds = 1000;  // whatever a file says
  story.tell(found).wait(4).tell(journal_story::of(job_event::type::stall_ended)).wait(6);
  const job_state state = state_of(story.records);
  CHECK(state.seconds(time_use::stall, story.now_us) == approximately(44));
  CHECK(state.seconds(time_use::rollback, story.now_us) == approximately(6));
  CHECK(productive(state, story) == approximately(50));
}

TEST_CASE("job state: the pause before a restart is no stop", "[status]") {
  journal_story story;
  story.begin().start(0, 1).wait(10).end_worker(0, 1);
  story.tell(journal_story::of(job_event::type::restart_decided, "restart 1 of 3")).wait(20);
  story.start(1, 1, 1);
  const job_state state = state_of(story.records);
  CHECK(state.seconds(time_use::wait, story.now_us) == approximately(20));
  CHECK(state.seconds(time_use::stop, story.now_us) == approximately(0));
}

TEST_CASE("job state: the vault as it was told last", "[status]") {
  journal_story story;
  story.begin().start(0, 2);
  CHECK_FALSE(state_of(story.records).vault());
  const auto told = [](job_event::type kind, std::int64_t generation, std::int64_t skipped) {
    job_event event = journal_story::of(kind);
    event.generation = generation;
    event.step = generation * 10;
    event.bytes = 4096;
    event.count = skipped;
    return event;
  };
  story.tell(told(job_event::type::vault_committed, 7, 0)).wait(5);
  const std::int64_t complete_us = state_of(story.records).vault()->complete_us;
  CHECK(complete_us > 0);
  story.tell(told(job_event::type::vault_skipped, 8, 1));
  story.tell(told(job_event::type::vault_dropped, 8, 2));
  story.tell(told(job_event::type::vault_restored, 7, 2));
  const auto vault = state_of(story.records).vault();
  CHECK(vault->generation == 7);
  CHECK(vault->step == 70);
  CHECK(vault->complete_us == complete_us);
  CHECK(vault->skipped == 2);
  CHECK(vault->bytes == 4096);
  CHECK(vault->restores == 1);
  job_event lost = told(job_event::type::vault_dropped, 7, 2);
  lost.state = "lost";
  story.tell(lost);
  CHECK(state_of(story.records).vault()->complete_us == 0);
}

}  // namespace job_state_tests
