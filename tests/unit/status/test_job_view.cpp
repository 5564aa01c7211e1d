// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/job_monitor.hpp>

#include <elastic/base/limits.hpp>
#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace job_view_tests {

using elastic::job_event;
using elastic::worker_progress;
using elastic::detail::agent_activity;
using elastic::detail::attempt_end;
using elastic::detail::job_view;
using elastic::detail::metrics_format;
using elastic::detail::time_use;
using elastic::test::approximately;
using elastic::test::contains_text;
using elastic::test::journal_story;
using elastic::test::view_of;
using condition = elastic::detail::viewed_worker::condition;

worker_progress step(int local_rank, std::int64_t step, std::int64_t total = 0) {
  worker_progress progress;
  progress.rank = local_rank;
  progress.local_rank = local_rank;
  progress.step = step;
  progress.total = total;
  return progress;
}

TEST_CASE("job view: a job that runs", "[status]") {
  journal_story story;
  story.begin();
  CHECK(elastic::detail::job_text(view_of(story.records), story.now_us).find("round") ==
        std::string::npos);
  story.start(0, 2).wait(10);
  const job_view view = view_of(story.records);
  CHECK(view.job().activity() == agent_activity::running);
  CHECK_THAT(elastic::detail::job_text(view, story.now_us),
             contains_text("  round 0  ran 10.0 s\n"));
  CHECK_THAT(elastic::detail::metrics_text(view, metrics_format::text, story.now_us),
             contains_text("\nelastic_round 0\n"));
  CHECK(view.job().run_id() == "job7");
  CHECK(elastic::detail::why_not_ready(view).empty());
  REQUIRE(view.job().attempts().size() == 1);
  CHECK(view.job().attempts()[0].round == 0);
  CHECK(view.job().attempts()[0].world_size == 4);
  REQUIRE(view.workers().size() == 2);
  CHECK(view.workers()[1].pid == 1);
  CHECK(view.workers()[1].state == condition::running);
  CHECK(view.seconds(time_use::rendezvous, story.now_us) == approximately(2));
  CHECK(view.seconds(time_use::start, story.now_us) == approximately(1));
  CHECK(view.seconds(time_use::training, story.now_us) == approximately(10));
  CHECK(view.goodput(story.now_us).value() == approximately(10.0 / 13));
}

TEST_CASE("job view: a worker that seems to hold up the others", "[status]") {
  journal_story story;
  story.begin().start(0, 2);
  job_event event = journal_story::of(job_event::type::worker_suspected, "it has <b>done nothing");
  event.local_rank = 1;
  event.state = "idle";
  story.tell(event);
  const job_view view = view_of(story.records);
  CHECK(view.job().activity() == agent_activity::running);
  CHECK(view.workers()[1].is_suspected());
  CHECK_FALSE(view.workers()[0].is_suspected());
  CHECK_THAT(elastic::detail::job_text(view, story.now_us),
             contains_text("  idle: it has <b>done nothing\n"));
  const auto json = nlohmann::json::parse(elastic::detail::job_json(view, story.now_us));
  CHECK(json["workers"][1]["suspicion"] == "idle");
  CHECK_FALSE(json["workers"][0].contains("suspicion"));
  CHECK_THAT(elastic::detail::metrics_text(view, metrics_format::text, story.now_us),
             contains_text("\nelastic_worker_suspected{rank=\"1\",state=\"idle\"} 1\n"));
  // Whatever a file says; and a worker that ends, or does something, is suspected no more.
  event.state = "cursed";
  story.tell(event);
  CHECK(view_of(story.records).workers()[1].is_suspected());
  event.state = "none";
  journal_story recovered_story = story;
  CHECK_FALSE(view_of(recovered_story.tell(event).records).workers()[1].is_suspected());
  CHECK_FALSE(view_of(story.end_worker(1, 0).records).workers()[1].is_suspected());
}

TEST_CASE("job view: what was lost by a restart, and why", "[status]") {
  journal_story story;
  story.begin().start(1, 2).wait(10);
  story.end_worker(1, 0, 9, "killed by the kernel");
  CHECK(view_of(story.records).job().activity() == agent_activity::stopping);
  CHECK(elastic::detail::why_not_ready(view_of(story.records)) ==
        "stopping: rank 1 ended: killed by the kernel");
  story.restart(1);
  CHECK(view_of(story.records).job().activity() == agent_activity::restarting);
  CHECK(view_of(story.records).workers()[0].state == condition::stopped);
  CHECK(view_of(story.records).workers()[1].state == condition::failed);
  story.start(2, 2, 1).wait(10);
  const job_view view = view_of(story.records);
  CHECK(view.job().activity() == agent_activity::running);
  CHECK(view.job().restarts() == 1);
  REQUIRE(view.job().attempts().size() == 2);
  const elastic::detail::job_attempt& first_attempt = view.job().attempts()[0];
  CHECK(first_attempt.end == attempt_end::failure);
  CHECK(first_attempt.failed_rank == 1);
  CHECK(first_attempt.reason == "rank 1 ended: killed by the kernel");
  CHECK(first_attempt.decision == "restart 1 of 3");
  CHECK(first_attempt.lost_seconds.value() == approximately(6));
  CHECK(view.job().attempts()[1].end == attempt_end::none);
  CHECK(view.seconds(time_use::stop, story.now_us) == approximately(3));
  CHECK(view.goodput(story.now_us).value() == approximately(20.0 / 29));
  CHECK(view.job().exits().at("signal:9") == 1);
  CHECK(view.job().ends()[static_cast<std::size_t>(attempt_end::failure)] == 1);
}

TEST_CASE("job view: a job that pauses says why, until it goes on", "[status]") {
  journal_story story;
  story.begin().start(1, 2);
  const auto state = [&] { return elastic::detail::why_not_ready(view_of(story.records)); };
  story.tell(journal_story::of(job_event::type::job_paused, "paused at node7 by user 0"));
  CHECK(state().empty());
  job_event end_event =
      journal_story::of(job_event::type::round_ended, "paused at node7 by user 0");
  end_event.state = "paused";
  story.tell(end_event);
  CHECK(state() == "stopping: paused at node7 by user 0");
  story.tell(journal_story::of(job_event::type::rendezvous_started));
  CHECK(state() == "paused: paused at node7 by user 0");
  story.tell(journal_story::of(job_event::type::job_resumed, "resumed by user 0"));
  CHECK(state() == "rendezvous: waiting for the nodes of the next round");
  // One that waits for its first round may pause, too.
  story.tell(journal_story::of(job_event::type::job_paused, "paused again"));
  CHECK(state() == "paused: paused again");
  story.start(2, 2);
  CHECK(state().empty());
}

TEST_CASE("job view: replicas that pause are paused as soon as they have stopped", "[status]") {
  const auto of = [](job_event::type kind) { return journal_story::of(kind); };
  journal_story story;
  story.begin().records.back().event.backend = "replicas";
  story.start(0, 2).wait(10);
  story.tell(journal_story::of(job_event::type::job_paused, "paused by user 0"));
  story.tell(of(job_event::type::workers_stopping)).wait(3);
  CHECK(view_of(story.records).job().activity() == agent_activity::stopping);
  story.tell(of(job_event::type::workers_stopped)).wait(100);
  const job_view paused = view_of(story.records);
  CHECK(elastic::detail::why_not_ready(paused) == "paused: paused by user 0");
  CHECK(paused.job().attempts().back().end == attempt_end::request);
  CHECK(paused.seconds(time_use::stop, story.now_us) == approximately(3));
  SECTION("they go on in another attempt") {
    story.tell(journal_story::of(job_event::type::job_resumed, "resumed by user 0"));
    story.tell(of(job_event::type::workers_starting)).wait(1);
    job_event started_event = of(job_event::type::workers_started);
    started_event.local_world_size = 2;
    started_event.pids = {300, 301};
    const job_view view = view_of(story.tell(started_event).records);
    CHECK(view.job().activity() == agent_activity::running);
    CHECK(view.job().reason().empty());
    CHECK(view.job().attempts().size() == 2);
    CHECK(view.job().attempts().back().end == attempt_end::none);
    CHECK(view.workers()[1].pid == 301);
    CHECK(view.workers()[1].state == condition::running);
  }
  SECTION("one that is to stop then is not paused") {
    story.tell(journal_story::of(job_event::type::stop_requested, "SIGTERM"));
    story.tell(of(job_event::type::workers_stopping)).tell(of(job_event::type::workers_stopped));
    CHECK(view_of(story.records).job().activity() == agent_activity::stopping);
  }
}

TEST_CASE("job view: steps, their duration and a straggler", "[status]") {
  journal_story story;
  story.begin().start(1, 4);
  job_view view = view_of(story.records);
  std::int64_t now = story.now_us;
  for (int round = 0; round < 20; ++round) {
    now += 1'000'000;
    // Rank 3 makes one step when the others make two.
    for (int rank = 0; rank < 3; ++rank) view.take(step(rank, 2 * round, 100), now);
    view.take(step(3, round, 100), now);
  }
  view.take(step(99, 5), now);
  view.take(step(-1, 5), now);
  CHECK(view.progress().median_seconds == approximately(0.5));
  REQUIRE(view.progress().slowest);
  CHECK(view.progress().slowest->rank == 3);
  const auto json = nlohmann::json::parse(elastic::detail::job_json(view, now));
  CHECK(json["progress"]["step"] == 19);
  CHECK(json["progress"]["seconds_left"] == 40.5);
  CHECK(json["workers"][3]["ratio"] == 2.0);
  CHECK_THAT(elastic::detail::job_text(view, now), contains_text("slow: 2.00 times the median"));
  CHECK_THAT(elastic::detail::metrics_text(view, metrics_format::text, now),
             contains_text("elastic_straggler_ratio{rank=\"3\"} 2\n"));
  const auto changes = nlohmann::json::parse(elastic::detail::progress_json(view, now, now));
  CHECK(changes["workers"].size() == 4);
  CHECK(elastic::detail::progress_json(view, now + 1, now).find("\"workers\": []") !=
        std::string::npos);
  // What the agent has found out is said once, with its own figure.
  journal_story later = story;
  job_event suspected = journal_story::of(job_event::type::worker_suspected,
                                          "a step takes it 1 s, 1.98 times the median");
  suspected.local_rank = 3;
  suspected.state = "slow";
  view.take(later.tell(suspected).records.back());
  const std::string text = elastic::detail::job_text(view, now);
  CHECK_THAT(text, contains_text("slow: a step takes it 1 s, 1.98 times the median"));
  CHECK(text.find("2.00 times the median") == std::string::npos);
}

TEST_CASE("job view: a step lasts until the next, however often it is reported", "[status]") {
  journal_story story;
  story.begin().start(1, 1);
  job_view view = view_of(story.records);
  for (std::int64_t second = 0; second < 9; ++second) {
    view.take(step(0, second / 2), story.now_us + second * 1'000'000);
  }
  CHECK(view.progress().median_seconds == approximately(2));
  // Behind a checkpoint it begins anew.
  view.take(step(0, 1), story.now_us + 20'000'000);
  view.take(step(0, 2), story.now_us + 22'000'000);
  CHECK(view.progress().median_seconds == approximately(2));
}

TEST_CASE("job view: what a worker reported is forgotten once its place is given to another",
          "[status]") {
  journal_story story;
  story.begin().start(0, 2);
  job_view view = view_of(story.records);
  view.take(step(0, 7), story.now_us);
  view.take(step(1, 8), story.now_us);
  CHECK(view.progress().slowest->rank == 0);
  view.take(story.end_worker(1, 1).records.back());
  CHECK(view.workers()[1].step == 8);
  CHECK(view.workers()[1].exit_code == 1);
  SECTION("a replica that starts again") {
    job_event again = journal_story::of(job_event::type::ranks_replaced);
    again.rank = 1;
    again.pid = 4711;
    view.take(story.tell(again).records.back());
    CHECK(view.workers()[0].step == 7);
    CHECK(view.workers()[1].step == -1);
  }
  SECTION("another round") {
    story.start(1, 2);
    for (const elastic::journal_record& record : story.records) view.take(record);
    CHECK_FALSE(view.progress().slowest);
  }
  SECTION("another agent, of whose journal the beginning is lost") {
    elastic::journal_record joined = story.records[2];
    REQUIRE(joined.event.kind == job_event::type::round_joined);
    joined.epoch = 8;
    view.take(joined);
    CHECK(view.workers().size() == 2);
    CHECK_FALSE(view.progress().slowest);
  }
}

TEST_CASE("job view: is bounded, whatever it is told", "[status]") {
  job_view view;
  journal_story story;
  story.begin();
  constexpr std::int64_t worker_count = 4096;
  const std::string hostile_text(3000, '\x01');
  for (std::int64_t round = 1; round <= 100; ++round) {
    story.start(round, worker_count, round);
    for (std::int64_t rank = 0; round == 100 && rank < worker_count; ++rank) {
      story.end_worker(rank, 1000 + rank, 0, hostile_text);
    }
    story.restart(round);
  }
  job_event huge_event = journal_story::of(job_event::type::round_joined);
  story.tell(journal_story::of(job_event::type::rendezvous_started));
  for (const elastic::journal_record& record : story.records) view.take(record);
  CHECK(view.job().attempts().size() == elastic::limits::viewed_attempts);
  CHECK(view.job().exits().size() <= elastic::limits::viewed_exits);
  CHECK(elastic::detail::job_json(view, story.now_us).size() <=
        elastic::limits::status_answer_bytes);
  CHECK(elastic::detail::job_text(view, story.now_us).size() < 200'000);
  huge_event.local_world_size = INT64_MAX;
  huge_event.base_rank = INT64_MAX;
  elastic::journal_record last_record = story.records.back();
  ++last_record.sequence;
  last_record.event = huge_event;
  view.take(last_record);
  CHECK(view.workers().size() == static_cast<std::size_t>(elastic::limits::local_world_size));
}

TEST_CASE("job view: as JSON, where each text stays one", "[status]") {
  journal_story story;
  story.begin().start(1, 2).end_worker(1, 1, 0, "</script>\"\n\xff");
  const auto json =
      nlohmann::json::parse(elastic::detail::job_json(view_of(story.records), story.now_us));
  CHECK(json["run_id"] == "job7");
  CHECK(json["epoch"] == 7);
  CHECK(json["sequence"] == story.records.size());
  CHECK(json["state"] == "stopping");
  CHECK(json["workers"][1]["state"] == "failed");
  CHECK(json["workers"][1]["exit_code"] == 1);
  CHECK(json["workers"][1]["reason"] == "</script>\"\n\xef\xbf\xbd");
  CHECK(json["attempts"][0]["failed_rank"] == 1);
  CHECK(json["seconds"]["rendezvous"] == 2.0);
}

TEST_CASE("job view: as text for a terminal", "[status]") {
  journal_story story;
  story.begin().start(1, 2).wait(100).end_worker(1, 0, 9, "\x1b[2Jfoo\nbar").restart(1);
  story.start(2, 2, 1).wait(65);
  CHECK(elastic::detail::job_text(view_of(story.records), story.now_us) ==
        "job job7  running\n"
        "round 2  world 4  node 0 of 2 (node0)  restarts 1 of 3  goodput 94.8 % "
        "(no steps reported)\n"
        "attempts (UTC)\n"
        "  22:13:20  round 1  ran 1 min 40 s  failure: rank 1 ended: \\x1b[2Jfoo bar"
        "  (lost 6.0 s)\n"
        "  22:15:06  round 2  ran 1 min 5 s\n"
        "workers of this node\n"
        "  rank 0     pid 200      running  \n"
        "  rank 1     pid 201      running  \n");
}

// ---- what the time went to ----------------------------------------------------------------------

job_event step_event(job_event::type kind, std::int64_t step, double seconds = 0) {
  job_event event = journal_story::of(kind);
  event.step = step;
  event.seconds = seconds;
  return event;
}

/// What was productive, in seconds.
double productive(const job_view& view, const journal_story& story) {
  return view.seconds(time_use::training, story.now_us);
}

TEST_CASE("job view: until the first step workers start, as soon as one was reported", "[status]") {
  journal_story story;
  story.begin().start(0, 2).wait(12);
  // Nobody knows yet whether they will report any.
  CHECK_FALSE(view_of(story.records).job().has_steps());
  CHECK(productive(view_of(story.records), story) == approximately(12));
  if (GENERATE(false, true)) {
    // A long start may look like a stall.
    job_event found = journal_story::of(job_event::type::stall_found, "the cause is unknown");
    found.seconds = 5;
    story.tell(found);
    CHECK(view_of(story.records).seconds(time_use::stall, story.now_us) == approximately(5));
  }
  story.tell(step_event(job_event::type::step_reached, 1, 12)).wait(3);
  const job_view view = view_of(story.records);
  CHECK(view.job().has_steps());
  CHECK(productive(view, story) == approximately(3));
  CHECK(view.seconds(time_use::start, story.now_us) == approximately(13));
  CHECK(view.goodput(story.now_us).value() == approximately(3.0 / 18));
  const auto json = nlohmann::json::parse(elastic::detail::job_json(view, story.now_us));
  CHECK(json["has_steps"] == true);
  CHECK(elastic::detail::job_text(view, story.now_us).find("no steps") == std::string::npos);
}

TEST_CASE("job view: a step is productive when it is done, so that no counter goes back",
          "[status]") {
  journal_story story;
  story.begin().start(0, 1).tell(step_event(job_event::type::step_reached, 1));
  job_view view = view_of(story.records);
  double last = 0;
  const auto grows = [&] {
    const double next = productive(view, story);
    CHECK(next >= last);
    last = next;
  };
  for (std::int64_t number = 1; number <= 10; ++number) {
    view.take(step(0, number), story.now_us);
    story.wait(1);
    grows();
    CHECK(productive(view, story) == approximately(static_cast<double>(number - 1)));
  }
  story.wait(29);
  job_event found = journal_story::of(job_event::type::stall_found, "rank 0 is stopped");
  found.seconds = 30;
  view.take(story.tell(found).records.back());
  grows();
  view.take(story.tell(journal_story::of(job_event::type::stall_ended)).records.back());
  view.take(step(0, 11), story.now_us);
  story.wait(1);
  view.take(story.end_worker(0, 1).records.back());
  grows();
  job_event ended = journal_story::of(job_event::type::round_ended, "rank 0 failed");
  ended.state = "worker_failed";
  ended.seconds = 2;
  view.take(story.wait(1).tell(ended).records.back());
  grows();
  CHECK(last == approximately(9));
}

// ---- metrics ------------------------------------------------------------------------------------

TEST_CASE("metrics: both formats", "[status]") {
  journal_story story;
  story.begin().start(1, 2).wait(10).end_worker(1, 3).restart(1).start(2, 2, 1).wait(4);
  const job_view view = view_of(story.records);
  const std::string openmetrics =
      elastic::detail::metrics_text(view, metrics_format::openmetrics, story.now_us);
  const std::string text = elastic::detail::metrics_text(view, metrics_format::text, story.now_us);
  CHECK(openmetrics.ends_with("\n# EOF\n"));
  CHECK(text.find("# EOF") == std::string::npos);
  CHECK_THAT(openmetrics, contains_text("# TYPE elastic_job info\n"));
  CHECK_THAT(text, contains_text("# TYPE elastic_job_info gauge\n"));
  CHECK_THAT(openmetrics, contains_text("# TYPE elastic_restarts counter\n"));
  CHECK_THAT(text, contains_text("# TYPE elastic_restarts_total counter\n"));
  for (const char* line :
       {R"(elastic_job_info{run_id="job7",role="trainer",backend="c10d",version="0.1.0"} 1)",
        R"(elastic_job_state{state="running"} 1)", R"(elastic_job_state{state="failed"} 0)",
        "elastic_round 2", "elastic_world_size 4", R"(elastic_nodes{state="active"} 2)",
        "elastic_restarts_remaining 2", R"(elastic_restarts_total{cause="failure"} 1)",
        R"(elastic_restarts_total{cause="membership"} 0)",
        R"(elastic_worker_exits_total{code="exit:3"} 1)", "elastic_productive_seconds_total 14",
        R"(elastic_lost_seconds_total{phase="rendezvous"} 4)",
        R"(elastic_lost_seconds_total{phase="stop"} 3)",
        R"(elastic_lost_seconds_total{phase="stall"} 0)",
        R"(elastic_lost_seconds_total{phase="wait"} 0)",
        R"(elastic_rendezvous_duration_seconds_bucket{le="1.0"} 0)",
        R"(elastic_rendezvous_duration_seconds_bucket{le="2.5"} 2)",
        R"(elastic_rendezvous_duration_seconds_bucket{le="+Inf"} 2)",
        "elastic_rendezvous_duration_seconds_sum 4", "elastic_rendezvous_duration_seconds_count 2",
        "elastic_stop_duration_seconds_count 1"}) {
    CHECK_THAT(openmetrics, contains_text(fmt::format("\n{}\n", line)));
    CHECK_THAT(text, contains_text(fmt::format("\n{}\n", line)));
  }
}

TEST_CASE("job monitor: another HTTP server has what a status server shows", "[status]") {
  journal_story story;
  story.begin().start(3, 2);
  elastic::job_monitor monitor;
  for (const elastic::journal_record& record : story.records) monitor.take(record);
  for (const int local_rank : {0, 1}) monitor.progressed(step(local_rank, 5));
  const auto json = nlohmann::json::parse(monitor.json());
  CHECK(json["run_id"] == "job7");
  CHECK_THAT(monitor.text(), contains_text("round 3"));
  CHECK_THAT(monitor.metrics(), contains_text("\nelastic_round 3\n"));
  CHECK_THAT(monitor.metrics(), contains_text("\nelastic_progress_steps"));
}

TEST_CASE("metrics: what the stores of the node are used for, if it serves some", "[status]") {
  const elastic::job_monitor monitor;
  const auto text = [&monitor] { return monitor.metrics(); };
  CHECK(text().find("elastic_store") == std::string::npos);
  std::optional<elastic::detail::viewed_stores> use;
  elastic::detail::internals::core_of(monitor)->measure_stores([&use] { return use; });
  CHECK(text().find("elastic_store") == std::string::npos);
  use = elastic::detail::viewed_stores{{{"get", 7}, {"set", 2}}, 3};
  CHECK_THAT(text(), contains_text("elastic_store_requests_total{op=\"get\"} 7\n"
                                   "elastic_store_requests_total{op=\"set\"} 2\n"));
  CHECK_THAT(text(), contains_text("\nelastic_store_keys 3\n"));
}

TEST_CASE("metrics: what is the job's is told by one node", "[status]") {
  journal_story story;
  story.begin().start(1, 2);
  for (elastic::journal_record& record : story.records) {
    if (record.event.group_rank) record.event.group_rank = 1;
  }
  const std::string text =
      elastic::detail::metrics_text(view_of(story.records), metrics_format::text, story.now_us);
  CHECK(text.find("elastic_world_size") == std::string::npos);
  CHECK(text.find("elastic_restarts") == std::string::npos);
  CHECK_THAT(text, contains_text("elastic_productive_seconds_total 0\n"));
}

TEST_CASE("metrics: labels are escaped, and the format is what the client takes", "[status]") {
  journal_story story;
  story.begin();
  story.records[0].event.run_id = "a\"b\\c\nd";
  CHECK_THAT(
      elastic::detail::metrics_text(view_of(story.records), metrics_format::text, story.now_us),
      contains_text(R"(run_id="a\"b\\c\nd",)"));
  CHECK(elastic::detail::metrics_format_for("") == metrics_format::text);
  CHECK(elastic::detail::metrics_format_for("text/plain;version=0.0.4") == metrics_format::text);
  CHECK(elastic::detail::metrics_format_for(
            "application/openmetrics-text;version=1.0.0,text/plain") ==
        metrics_format::openmetrics);
}

}  // namespace job_view_tests
