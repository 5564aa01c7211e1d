// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/advice.hpp>
#include <program/commands/explanation.hpp>

#include <elastic/base/detail/stable_order.hpp>
#include <support/catch.hpp>

#include <csignal>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace explanation_tests {

using namespace elastic;
using elastic::test::contains_text;
using elasticrun::explain;
using kind = job_event::type;

/// Writes a journal as an agent does.
struct narrator {
  std::string node = "host0";
  std::int64_t epoch = 1'700'000'000'000'000;
  double now = 0;
  std::int64_t sequence = 0;
  std::int64_t round = 0;
  detail::journal_contents journal;

  job_event& tell(kind event_kind, double delay, std::string reason = "", std::string state = "") {
    now += delay;
    journal_record record;
    record.sequence = ++sequence;
    record.epoch = epoch;
    record.time_us = epoch + static_cast<std::int64_t>(now * 1e6);
    record.node = node;
    record.event.kind = event_kind;
    record.event.reason = std::move(reason);
    record.event.state = std::move(state);
    if (round > 0) record.event.round = round;
    journal.records.push_back(std::move(record));
    return journal.records.back().event;
  }

  void begin() {
    job_event& event = tell(kind::agent_started, 0);
    event.run_id = "job7";
    event.backend = "c10d";
    event.local_world_size = 4;
    event.max_restarts = 5;
  }

  /// Meets the others, then starts the workers.
  void start(double meeting_seconds = 1, double start_seconds = 1) {
    tell(kind::rendezvous_started, 0);
    ++round;
    job_event& join_event = tell(kind::round_joined, meeting_seconds);
    join_event.seconds = meeting_seconds;
    join_event.attempt = round - 1;
    join_event.group_world_size = 2;
    join_event.world_size = 8;
    join_event.base_rank = 4;
    join_event.local_world_size = 4;
    tell(kind::workers_starting, 0);
    job_event& start_event = tell(kind::workers_started, start_seconds);
    start_event.seconds = start_seconds;
    start_event.attempt = round - 1;
    start_event.local_world_size = 4;
  }

  void fail(double delay, std::int64_t local_rank = 1, std::string reason = "exit code 1") {
    job_event& event = tell(kind::worker_ended, delay, std::move(reason), "failed");
    event.rank = 4 + local_rank;
    event.local_rank = local_rank;
    event.pid = 4411;
    event.exit_code = 1;
    tell(kind::workers_judged, 0, "", "failed");
  }

  void end_round(bool restarts, double stop_seconds = 0.5, double grace = 30,
                 std::string state = "worker_failed") {
    tell(kind::round_ended, 0, "rank 5 ended: exit code 1", std::move(state));
    tell(restarts ? kind::restart_decided : kind::failure_decided, 0,
         restarts ? "1 of 5 restarts used" : "restarts used up");
    tell(kind::workers_stopping, 0).allowed = grace;
    job_event& event = tell(kind::workers_stopped, stop_seconds);
    event.allowed = grace;
    event.seconds = stop_seconds;
    event.count = 3;
  }

  void end(std::string state) { tell(kind::agent_ended, 0, "", std::move(state)); }

  std::string explanation() const { return explain({journal}); }
};

TEST_CASE("explanation: only failures of workers count as restarts", "[program]") {
  for (const char* change : {"node_waiting", "node_lost", "paused", "worker_failed"}) {
    CAPTURE(change);
    narrator run;
    run.begin();
    run.start();
    run.end_round(true, 0.5, 30, change);
    run.start();
    run.end("succeeded");
    const bool counts = std::string(change) == "worker_failed";
    CHECK_THAT(run.explanation(), contains_text(counts ? ", 1 restart\n" : ", 0 restarts\n"));
  }
}

TEST_CASE("explanation: the story of a run with a failure and a restart", "[program]") {
  narrator run;
  run.begin();
  run.start();
  run.fail(600);
  run.end_round(true);
  run.start();
  run.journal.records.back().event.reason = "3 warm; 1 cold, because no standby was ready";
  run.tell(kind::workers_judged, 3000, "", "succeeded");
  run.end("succeeded");
  CHECK(run.explanation() ==
        "Run job7 on host0: succeeded after 1 h 0 min, 1 restart\n"
        "\n"
        "Time line of host0 (UTC)\n"
        "  2023-11-14 22:13:20  the agent began (backend c10d, 4 workers, up to 5 restarts)\n"
        "             22:13:21  joined round 1 in 1 s as node 0 of 2, ranks 4 to 7 of 8\n"
        "             22:13:22  attempt 0: the workers run, started in 1 s\n"
        "             22:23:22  rank 5 (local rank 1, pid 4411) failed: exit code 1\n"
        "             22:23:22  the round ended because a worker failed "
        "(rank 5 ended: exit code 1)\n"
        "             22:23:22  the workers restart (1 of 5 restarts used)\n"
        "             22:23:22  3 workers were stopped in 0.5 s\n"
        "             22:23:23  joined round 2 in 1 s as node 0 of 2, ranks 4 to 7 of 8\n"
        "             22:23:24  attempt 1: the workers run, started in 1 s: "
        "3 warm; 1 cold, because no standby was ready\n"
        "             23:13:24  all workers of this node succeeded\n"
        "             23:13:24  the agent ended, succeeded\n"
        "\n"
        "Root causes\n"
        "  round 1 on host0: rank 5 (local rank 1, pid 4411) failed: exit code 1\n"
        "\n"
        "Where the time went\n"
        "  productive            99.9 %  1 h 0 min\n"
        "  rendezvous             0.1 %  2 s\n"
        "  start                  0.0 %  2 s\n"
        "  stop                   0.0 %  0.5 s\n"
        "  No worker reported a step, so all the time for which they ran counts as productive, "
        "except stalls that --diagnose found.\n");
}

TEST_CASE("explanation: a root cause has the last lines of the worker", "[program]") {
  narrator run;
  run.begin();
  run.start();
  run.fail(600);
  job_event& described = run.tell(kind::failure_described, 0, "");
  described.rank = 5;
  described.lines = "Traceback (most recent call last):\nValueError: \x1b[31mbad batch\n";
  run.end_round(true);
  CHECK_THAT(run.explanation(),
             contains_text("rank 5 (local rank 1, pid 4411) failed: exit code 1\n"
                           "    | Traceback (most recent call last):\n"
                           "    | ValueError: \\x1b[31mbad batch\n"));
}

TEST_CASE("explanation: what held up the job is said once in the time line", "[program]") {
  const std::string why = "has not entered all_reduce #7, in which 3 others wait; it is in a.py:8";
  narrator run;
  run.begin();
  run.start();
  run.tell(kind::stall_found, 60, "rank 5 (host0, local rank 1) " + why, "behind").rank = 5;
  job_event& hung = run.tell(kind::worker_hung, 1, "it " + why);
  hung.rank = 5;
  hung.local_rank = 1;
  run.fail(1, 1, "SIGKILL, hung: it " + why);
  run.tell(kind::round_ended, 0, "rank 5 was hung: it " + why, "worker_failed");
  const std::string text = run.explanation();
  const std::string line = text.substr(0, text.find("\nRoot causes\n"));
  const std::size_t first = line.find(why);
  REQUIRE(first != std::string::npos);
  CHECK(line.find(why, first + 1) == std::string::npos);
  CHECK_THAT(line, contains_text("was hung: as above\n"));
  CHECK_THAT(line, contains_text("failed: SIGKILL, hung: as above\n"));
  CHECK_THAT(line, contains_text("(rank 5 was hung: as above)\n"));
}

TEST_CASE("explanation: what the vault saved is compared with the last checkpoint", "[program]") {
  const auto story = [](std::int64_t saved) {
    narrator told;
    told.begin();
    told.start();
    told.tell(kind::checkpoint_ended, 10).count = saved;
    told.tell(kind::vault_committed, 240).generation = 8;
    told.tell(kind::vault_restored, 20).generation = 8;
    return told.explanation();
  };
  CHECK_THAT(story(2), contains_text("; the last checkpoint is 4 min 0 s older\n"));
  CHECK(story(0).find("the last checkpoint") == std::string::npos);
}

TEST_CASE("explanation: the time after the restart of a replica is productive",
          "[program][roles]") {
  narrator run;
  run.begin();
  run.journal.records.back().event.backend = "replicas";
  run.tell(kind::workers_starting, 0);
  run.tell(kind::workers_started, 1).local_world_size = 4;
  job_event& ended = run.tell(kind::worker_ended, 30, "SIGKILL", "failed");
  ended.rank = ended.local_rank = 0;
  run.tell(kind::restart_decided, 0, "restart 1 of 5", "replace");
  job_event& replaced = run.tell(kind::ranks_replaced, 2, "replica 0 ended: SIGKILL");
  replaced.rank = 0;
  replaced.ranks = {0};
  replaced.pid = 4711;
  replaced.count = 3;
  run.tell(kind::stop_requested, 65, "SIGTERM received");
  run.tell(kind::workers_stopping, 0);
  run.tell(kind::workers_stopped, 2);
  run.end("stopped");
  CHECK_THAT(run.explanation(), contains_text("Where the time went\n"
                                              "  productive            95.0 %  1 min 35 s\n"
                                              "  start                  1.0 %  1 s\n"
                                              "  stop                   4.0 %  4 s\n"));
}

TEST_CASE("explanation: each role of a job has a story of its own", "[program][roles]") {
  // Two agents write into one journal at the same time.
  narrator trainer;
  narrator rollout;
  rollout.epoch += 1;
  trainer.begin();
  rollout.begin();
  trainer.start();
  rollout.start();
  rollout.fail(10, 0, "exit code 3");
  rollout.end_round(true);
  rollout.start();
  trainer.tell(kind::workers_judged, 100, "", "succeeded");
  trainer.end("succeeded");
  rollout.end("stopped");
  std::vector<journal_record> records;
  const auto add = [&](const narrator& from, const std::string& role) {
    for (journal_record record : from.journal.records) {
      record.event.role = role;
      if (record.event.kind == kind::agent_started) record.event.run_id = "grpo/" + role;
      records.push_back(std::move(record));
    }
  };
  add(trainer, "trainer");
  add(rollout, "rollout");
  detail::sort_stably(records, [](const auto& left, const auto& right) {
    return left.time_us < right.time_us;
  });
  detail::journal_contents journal;
  journal.records = records;
  const std::string text = explain({journal});
  INFO(text);
  CHECK_THAT(text, contains_text("Run grpo/trainer on host0: succeeded after 1 min 42 s, "
                                 "0 restarts\n"
                                 "Run grpo/rollout on host0: stopped after"));
  const std::size_t of_trainer = text.find("\n== Role trainer ==\n");
  const std::size_t of_rollout = text.find("\n== Role rollout ==\n");
  REQUIRE(of_trainer < of_rollout);
  REQUIRE(of_rollout != std::string::npos);
  CHECK(text.find("exit code 3") > of_rollout);
  CHECK_THAT(text, contains_text("Root causes\n  round 1 on host0: rank 4 (local rank 0, pid 4411) "
                                 "failed: exit code 3\n"));
}

TEST_CASE("explanation: what would have helped a run, rule by rule", "[program]") {
  narrator run;
  run.begin();
  SECTION("a loop of short attempts") {
    for (int attempt = 0; attempt < 3; ++attempt) {
      run.start();
      run.fail(5, attempt);
      run.end_round(attempt < 2);
    }
    CHECK_THAT(run.explanation(), contains_text("loop without progress: 3 attempts in a row"));
    CHECK_THAT(run.explanation(), contains_text("--restart-while-progress 2 "));
  }
  SECTION("a loop that reaches the same step again") {
    for (int attempt = 0; attempt < 3; ++attempt) {
      run.start();
      run.fail(500, attempt);
      run.journal.records.back().event.step = 100;
      run.end_round(attempt < 2);
    }
    CHECK_THAT(run.explanation(), contains_text("loop without progress: 3 attempts in a row"));
  }
  SECTION("attempts that come further are not a loop") {
    for (int attempt = 0; attempt < 4; ++attempt) {
      run.start();
      run.fail(5, attempt);
      run.journal.records.back().event.step = 100 * attempt;
      run.end_round(attempt < 2);
    }
    CHECK_THAT(run.explanation(), !contains_text("loop without progress"));
  }
  SECTION("always the same rank") {
    for (int attempt = 0; attempt < 3; ++attempt) {
      run.start();
      run.fail(100, 2);
      run.end_round(true);
    }
    CHECK_THAT(run.explanation(),
               contains_text("always the same place: All 3 failures began with local rank 2 on "
                             "host0"));
    CHECK_THAT(run.explanation(), !contains_text("loop without progress"));
  }
  SECTION("a hung rank") {
    run.start();
    run.tell(kind::worker_hung, 60, "no heartbeat for 60 s").rank = 5;
    run.end_round(true);
    CHECK_THAT(run.explanation(), contains_text("hung rank: 1 worker was hung: --hang-hook"));
    CHECK_THAT(run.explanation(), contains_text("rank 5 was hung: no heartbeat for 60 s"));
  }
  SECTION("a rank for which the others wait again and again") {
    run.start();
    for (int stall = 0; stall < 2; ++stall) {
      run.tell(kind::stall_found, 60, "rank 5 has not entered all_reduce #7", "behind").rank = 5;
      run.tell(kind::stall_ended, 60);
    }
    CHECK_THAT(run.explanation(),
               contains_text("rank that others waited for: The job stalled 2 times, waiting for "
                             "rank 5: look at its data, its node and its links."));
  }
  SECTION("different ranks for which the others wait") {
    run.start();
    run.tell(kind::stall_found, 60, "rank 5 is stopped", "stopped").rank = 5;
    run.tell(kind::stall_found, 60, "rank 6 has ended", "dead").rank = 6;
    CHECK_THAT(run.explanation(),
               contains_text("The job stalled 2 times, waiting for ranks 5, 6: look at their data, "
                             "their nodes and their links."));
  }
  SECTION("a stall of which nobody knows the reason") {
    run.start();
    run.tell(kind::stall_found, 60, "the cause is unknown", "unknown");
    CHECK_THAT(run.explanation(),
               contains_text("The job stalled once, and the cause is unknown"));
  }
  SECTION("out of memory") {
    run.start();
    run.fail(60, 1, "SIGKILL, while the kernel killed processes because memory ran out");
    run.journal.records[run.journal.records.size() - 2].event.signal = SIGKILL;
    CHECK_THAT(run.explanation(), contains_text("out of memory: Rank 5 on host0"));
  }
  SECTION("a grace that is used up") {
    run.start();
    run.fail(60);
    run.end_round(true, 30.01, 30);
    CHECK_THAT(run.explanation(), contains_text("grace too long: Workers did not end within the "
                                                "grace of 30 s, 1 time"));
  }
  SECTION("a grace that is not") {
    run.start();
    run.fail(60);
    run.end_round(true, 20, 30);
    CHECK_THAT(run.explanation(), !contains_text("grace too long"));
  }
  SECTION("a long rendezvous") {
    run.start(40);
    run.tell(kind::workers_judged, 100, "", "succeeded");
    CHECK_THAT(run.explanation(), contains_text("long rendezvous: 40 s went to meeting"));
  }
  SECTION("a long start") {
    run.start(1, 1);
    run.fail(60);
    run.end_round(true);
    run.start(1, 30);
    run.tell(kind::workers_judged, 100, "", "succeeded");
    CHECK_THAT(run.explanation(), contains_text("long start: 31 s went to starting workers"));
  }
  SECTION("nodes that join one after the other") {
    for (int attempt = 0; attempt < 3; ++attempt) {
      run.start();
      run.tell(kind::round_ended, 100, "node b waits to join", "node_waiting");
    }
    CHECK_THAT(run.explanation(),
               contains_text("repeated joins: The workers were stopped 3 times"));
  }
  SECTION("a node that lost contact") {
    run.start();
    run.tell(kind::fence_reached, 100, "other nodes may continue without this one");
    CHECK_THAT(run.explanation(),
               contains_text("lost contact: host0 was cut off from the other nodes"));
  }
  SECTION("nothing") {
    run.start();
    run.tell(kind::workers_judged, 100, "", "succeeded");
    run.end("succeeded");
    CHECK_THAT(run.explanation(), !contains_text("What would have helped"));
  }
}

TEST_CASE("explanation: a slow node is named by those that waited for it", "[program]") {
  narrator quick_node;
  narrator slow_node;
  slow_node.node = "host1";
  for (narrator* run : {&quick_node, &slow_node}) {
    run->begin();
    run->start(run == &quick_node ? 60 : 2);
    run->tell(kind::workers_judged, 100, "", "succeeded");
    run->end("succeeded");
  }
  const std::string text = explain({quick_node.journal, slow_node.journal});
  CHECK_THAT(text, contains_text("slow node: host1 came last to 1 round, and the others waited "
                                 "58 s for it"));
  CHECK_THAT(text, !contains_text("long rendezvous"));
}

TEST_CASE("explanation: what failed because another node did is not a root cause", "[program]") {
  narrator run;
  run.begin();
  run.start();
  run.fail(5);
  run.end_round(true);
  run.journal.records[run.journal.records.size() - 4].event.elsewhere = 1;
  CHECK_THAT(run.explanation(), !contains_text("Root causes"));
}

TEST_CASE("explanation: two epochs of a journal are two stories", "[program]") {
  narrator run;
  run.begin();
  run.start();
  narrator later_run;
  later_run.epoch += 100'000'000;
  later_run.begin();
  later_run.start();
  later_run.end("stopped");
  for (const journal_record& record : later_run.journal.records)
    run.journal.records.push_back(record);
  const std::string text = run.explanation();
  CHECK_THAT(text, contains_text("Run job7 on host0: its agent still runs or was killed; its "
                                 "journal ends after 2 s, 0 restarts\n"
                                 "Run job7 on host0: stopped after 2 s, 0 restarts\n"));
  CHECK_THAT(text, contains_text("silent end: The agent of host0 ended unexpectedly"));
}

TEST_CASE("explanation: a journal that is torn, damaged or empty is explained as far as it goes",
          "[program]") {
  CHECK(explain({}) == "The journal has no records.\n");
  CHECK(explain({detail::parse_journal("{\"seq")}) ==
        "The journal has no records.\n\nRemarks\n  The last line of a journal is cut off and left "
        "out.\n");
  narrator run;
  run.begin();
  run.journal.is_torn = true;
  run.journal.refused_lines = 2;
  run.journal.first_refusal = "a line of the journal is not a JSON object";
  CHECK_THAT(run.explanation(), contains_text("is cut off and left out"));
  CHECK_THAT(run.explanation(),
             contains_text("2 lines are not records and are left out; the first: "
                           "a line of the journal is not a JSON object"));
}

TEST_CASE("explanation: hostile texts and numbers of a journal stay text", "[program]") {
  detail::journal_contents journal;
  for (const auto& [event_kind, name] : job_event_kinds) {
    journal_record record;
    record.sequence = 1;
    record.time_us = INT64_MAX;
    record.node = "\x1b[31mnode";
    record.event.kind = event_kind;
    record.event.reason = "\x1b]0;title\x07\nroot\xff";
    record.event.state = "\x1b";
    record.event.run_id = "\x1b";
    record.event.backend = "\x1b";
    record.event.rank = record.event.pid = record.event.local_rank = INT64_MIN;
    record.event.base_rank = record.event.local_world_size = INT64_MIN;
    record.event.step = INT64_MAX;
    record.event.seconds = -1e300;
    record.event.allowed = 1e300;
    journal.records.push_back(record);
    record.time_us = 0;
    journal.records.push_back(record);
  }
  const std::string text = explain({journal, journal});
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
}

TEST_CASE("explanation: a long time line tells its begin and its end", "[program]") {
  narrator run;
  run.begin();
  for (int attempt = 0; attempt < 1000; ++attempt) run.start();
  CHECK_THAT(run.explanation(), contains_text("...  (1801 more)"));
}

TEST_CASE("explanation: the documents show every rule", "[program]") {
  std::ifstream file(ELASTIC_SOURCE_DIR "/docs/failures.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  for (const elasticrun::advice_rule& rule : elasticrun::advice_rules()) {
    INFO(rule.name);
    CHECK(guide.find(std::string("| ") + rule.name + " |") != std::string::npos);
  }
}

}  // namespace explanation_tests
