// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The view of the whole job on the node that serves its rendezvous, made from the reports of the
// nodes.

#include <elastic/base/detail/internals.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/node_report.hpp>
#include <elastic/status/detail/report_feed.hpp>
#include <elastic/status/detail/viewed_job.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace viewed_job_tests {

using elastic::job_event;
using elastic::job_journal;
using elastic::job_monitor;
using elastic::detail::agent_activity;
using elastic::detail::job_monitor_core;
using elastic::detail::job_news;
using elastic::detail::job_roster;
using elastic::detail::job_view;
using elastic::detail::metrics_format;
using elastic::detail::node_presence;
using elastic::detail::node_report;
using elastic::detail::parse_node_report;
using elastic::detail::report_demand;
using elastic::detail::report_feed;
using elastic::detail::report_text;
using elastic::detail::viewed_job;
using elastic::detail::viewed_worker;
using elastic::detail::worker_usage;
using elastic::test::contains_text;
using elastic::test::journal_story;
using elastic::test::view_of;
using condition = viewed_worker::condition;
using presence = node_presence;

constexpr std::int64_t second = 1'000'000;
constexpr std::int64_t now = 1'700'000'000 * second;

job_roster::entry node(std::int64_t key, presence state, int rank = -1) {
  return {key, fmt::format("host{}", key), fmt::format("host{}_1_0", key), state, rank};
}

job_roster roster(std::vector<job_roster::entry> nodes) {
  job_roster result;
  result.round = 3;
  result.is_complete = true;
  result.min_nodes = 2;
  result.max_nodes = 4;
  for (const job_roster::entry& entry : nodes) {
    result.active += entry.presence == presence::active ? 1 : 0;
    result.waiting += entry.presence == presence::waiting ? 1 : 0;
    result.lost += entry.presence == presence::lost ? 1 : 0;
  }
  result.nodes = std::move(nodes);
  return result;
}

node_report report(std::int64_t size, std::int64_t base_rank = 4) {
  node_report result;
  result.begins = true;
  result.epoch = 8;
  result.activity = agent_activity::running;
  result.round = 3;
  result.base_rank = base_rank;
  result.size = size;
  return result;
}

viewed_worker worker(std::int64_t local_rank, condition state, std::int64_t step = -1) {
  viewed_worker result;
  result.local_rank = local_rank;
  result.state = state;
  result.pid = 100 + local_rank;
  result.step = step;
  return result;
}

elastic::journal_record death(std::int64_t rank, const std::string& reason) {
  journal_story story;
  story.end_worker(rank, 0, 9, reason);
  return story.records.front();
}

TEST_CASE("node report: what is read is what was written", "[status]") {
  node_report original = report(3);
  original.reason = "a \"reason\"\n\x1b[2J\xff";
  original.workers = {worker(0, condition::running, 7), worker(2, condition::failed)};
  original.workers[0].total = 10;
  original.workers[0].step_seconds = 0.25;
  original.workers[1].signal = 9;
  original.workers[1].reason = "killed";
  original.events = {death(2, "killed")};
  const std::string text = report_text(original);
  CHECK(text ==
        R"({"begins": true, "epoch": 8, "state": "running", )"
        R"("reason": "a \"reason\"\n\u001b[2J�", "round": 3, "base_rank": 4, "size": 3, )"
        R"("events": [{"seq": 1, "epoch": 7, "time_us": 1700000000000000, "node": "node0", )"
        R"("kind": "worker_ended", "rank": 2, "signal": 9, "reason": "killed"}], )"
        R"("workers": [[0,1,100,7,10,0.25,null,null,""],)"
        R"([2,3,102,-1,0,0,null,9,"killed"]]})");
  const node_report copy = parse_node_report(text);
  CHECK(report_text(copy) == text);
  CHECK(copy.begins);
  CHECK(copy.workers[0].step_seconds == 0.25);
  CHECK(copy.workers[1].signal == 9);
  CHECK_FALSE(copy.workers[1].exit_code);
  CHECK(copy.events[0].event.rank == 2);
}

TEST_CASE("node report: what is none is refused, and named", "[status]") {
  const auto text_with = [](const std::string& workers, std::string events = "[]",
                            std::string size = "2", std::string state = "running") {
    return fmt::format(
        R"({{"begins": true, "epoch": 1, "state": "{}", "reason": "", "round": 1, "base_rank": 0,)"
        R"( "size": {}, "events": {}, "workers": {}}})",
        state, size, events, workers);
  };
  CHECK_NOTHROW(parse_node_report(text_with("[]")));
  CHECK_NOTHROW(parse_node_report(text_with(R"([[1,1,5,-1,0,0.5,null,9,""]])")));
  struct row {
    std::string text;
    const char* problem;
  };
  const std::vector<row> rows = {
      {"", "is not a JSON object"},
      {"[]", "is not a JSON object"},
      {"{}", "has no \"begins\""},
      {text_with("[]", "[]", "2", "asleep"), "unknown \"state\""},
      {text_with("[]", "[]", "-1"), "\"size\" outside"},
      {text_with("[]", "[]", "99999999999999999999"), "\"size\""},
      {text_with("[]", "[]", "4097"), "\"size\" outside"},
      {text_with("{}"), "has no list \"workers\""},
      {text_with("[1]"), "not a list of 9 entries"},
      {text_with("[[0,0,0,0,0,0,null,null]]"), "not a list of 9 entries"},
      {text_with(R"([[2,1,5,-1,0,0.5,null,9,""]])"), "entry 0 is not a number from 0 to 1"},
      {text_with(R"([[0,6,5,-1,0,0.5,null,9,""]])"), "entry 1 is not a number from 0 to 5"},
      {text_with(R"([[0,1,-5,-1,0,0.5,null,9,""]])"), "entry 2"},
      {text_with(R"([[0,1,5,-2,0,0.5,null,9,""]])"), "entry 3"},
      {text_with(R"([[0,1,5,18446744073709551615,0,0.5,null,9,""]])"), "entry 3"},
      {text_with(R"([[0,1,5,"1",0,0.5,null,9,""]])"), "entry 3"},
      {text_with(R"([[0,1,5,1,0,-1,null,9,""]])"), "not a number of seconds"},
      {text_with(R"([[0,1,5,1,0,1e300,null,9,""]])"), "not a number of seconds"},
      {text_with(R"([[0,1,5,1,0,0.5,"x",9,""]])"), "entry 6"},
      {text_with(R"([[0,1,5,1,0,0.5,null,9,0]])"), "not a list of 9 entries"},
      {text_with("[]", "[{}]"), "a line of the journal"},
      {text_with("[]", "[1]"), "a line of the journal"},
      {text_with("[]", "[" + std::string(40, ' ') + "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"),
       "has \"events\" of 17 entries; up to 8 are taken"},
      {text_with("[]", "[" + std::string(14'000, '[') + std::string(14'000, ']') + "]"),
       "has more than 128 levels of objects and lists"},
      {text_with("[]", "[{\"seq\": 1, \"more\": " + std::string(14'000, '[') +
                           std::string(14'000, ']') + "}]"),
       "has more than 128 levels of objects and lists"},
      {text_with("[]", "[{\"seq\": 1, \"more\": " + std::string(120, '[') +
                           std::string(120, ']') + "}]"),
       "a line of the journal has no \"epoch\""},
      {std::string(elastic::limits::node_report_bytes + 1, ' '), "bytes long"}};
  for (const row& entry : rows) {
    CAPTURE(entry.text.substr(0, 200));
    CHECK_THROWS_WITH(parse_node_report(entry.text), contains_text(entry.problem));
  }
}

TEST_CASE("node report: what workers use is there only if it is said", "[status]") {
  node_report original = report(2);
  const std::string without = report_text(original);
  CHECK_THAT(without, !contains_text("usage"));
  CHECK(parse_node_report(without).used.empty());
  original.used = {worker(0, condition::running), worker(1, condition::running)};
  original.used[0].usage = {1.25, 3'000'000'000};
  const std::string text = report_text(original);
  CHECK_THAT(text, contains_text(R"("usage": [[0,1.25,3000000000],[1,-1,0]]})"));
  const node_report copy = parse_node_report(text);
  REQUIRE(copy.used.size() == 2);
  CHECK(copy.used[0].usage == original.used[0].usage);
  CHECK(copy.used[1].usage == worker_usage());
  for (const char* usage : {"1", "[[0,1]]", "[[2,1,1]]", "[[-1,1,1]]", "[[0,\"1\",1]]",
                            "[[0,1e300,1]]", "[[0,1,-1]]", "[[0,1,1.5]]"}) {
    CAPTURE(usage);
    const std::string broken = without.substr(0, without.size() - 1) + ", \"usage\": " + usage;
    CHECK_THROWS_AS(parse_node_report(broken + "}"), elastic::error);
  }
}

/// What a node has to tell, in as many pieces as it takes.
std::vector<node_report> pieces_of(report_feed& feed, const job_view& view, bool has_progress) {
  std::vector<node_report> pieces;
  for (;;) {
    const std::string text = feed.next(view, has_progress);
    if (text.empty()) return pieces;
    CHECK(text.size() <= elastic::limits::node_report_bytes);
    pieces.push_back(parse_node_report(text));
    REQUIRE(pieces.size() < 1000);
  }
}

TEST_CASE("report feed: tells everything once, then what is new", "[status]") {
  report_feed feed;
  journal_story story;
  story.begin().start(1, 2);
  job_view view = view_of(story.records);
  auto pieces = pieces_of(feed, view, true);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].begins);
  CHECK(pieces[0].activity == agent_activity::running);
  CHECK(pieces[0].workers.size() == 2);
  CHECK(pieces[0].workers[1].pid == 101);
  CHECK(pieces_of(feed, view, true).empty());
  elastic::worker_progress step;
  step.local_rank = 1;
  step.step = 5;
  view.take(step, story.now_us);
  CHECK(pieces_of(feed, view, false).empty());
  pieces = pieces_of(feed, view, true);
  REQUIRE(pieces.size() == 1);
  CHECK_FALSE(pieces[0].begins);
  REQUIRE(pieces[0].workers.size() == 1);
  CHECK(pieces[0].workers[0].step == 5);
  story.end_worker(0, 0, 9, "killed");
  view.take(story.records.back());
  feed.note(story.records.back());
  pieces = pieces_of(feed, view, false);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].workers.size() == 1);
  CHECK(pieces[0].workers[0].state == condition::failed);
  REQUIRE(pieces[0].events.size() == 1);
  CHECK(pieces[0].events[0].event.signal == 9);
  CHECK(pieces[0].activity == agent_activity::stopping);
  feed = report_feed();
  CHECK(pieces_of(feed, view, false).front().workers.size() == 2);
}

TEST_CASE("report feed: tells what workers use while somebody wants to hear of progress",
          "[status]") {
  report_feed feed;
  job_view view = view_of(journal_story().begin().start(1, 2).records);
  CHECK(pieces_of(feed, view, false).size() == 1);
  view.take(1, {0.5, 4096});
  CHECK(pieces_of(feed, view, false).empty());
  const auto pieces = pieces_of(feed, view, true);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].workers.empty());
  REQUIRE(pieces[0].used.size() == 1);
  CHECK(pieces[0].used[0].local_rank == 1);
  CHECK(pieces[0].used[0].usage == worker_usage{0.5, 4096});
  CHECK(pieces_of(feed, view, true).empty());
}

TEST_CASE("report feed: pieces are bounded, whatever workers say", "[status]") {
  constexpr std::int64_t worker_count = 4096;
  report_feed feed;
  journal_story story;
  story.begin().start(1, worker_count);
  for (std::int64_t rank = 0; rank < worker_count; ++rank) {
    story.end_worker(rank, 1, 0, std::string(3000, rank % 2 == 0 ? '\x01' : '"'));
  }
  job_view view;
  for (elastic::journal_record& record : story.records) {
    view.take(record);
    for (std::string* text : {&record.event.lines, &record.event.state, &record.event.peer}) {
      *text = std::string(3000, '\x01');
    }
    feed.note(record);
  }
  for (std::size_t place = 0; place < worker_count; ++place) view.take(place, {1e-5, INT64_MAX});
  std::size_t workers = 0;
  std::size_t used = 0;
  std::size_t events = 0;
  for (const node_report& piece : pieces_of(feed, view, true)) {
    workers += piece.workers.size();
    used += piece.used.size();
    events += piece.events.size();
  }
  CHECK(workers == worker_count);
  CHECK(used == worker_count);
  CHECK(events == static_cast<std::size_t>(elastic::limits::node_events_per_second));
}

TEST_CASE("report feed: tells no more events of a second than are heard of it", "[status]") {
  report_feed feed;
  const job_view view = view_of(journal_story().begin().start(1, 2).records);
  const auto count_events = [&](std::int64_t at_us) {
    std::size_t count = 0;
    for (int i = 0; i < 100; ++i) {
      elastic::journal_record record = death(1, "again");
      record.time_us = at_us;
      feed.note(record);
      for (const node_report& piece : pieces_of(feed, view, true)) count += piece.events.size();
    }
    return count;
  };
  constexpr auto bound = static_cast<std::size_t>(elastic::limits::node_events_per_second);
  CHECK(count_events(now) == bound);
  CHECK(count_events(now + second) == bound);
}

TEST_CASE("viewed job: nodes are what the server says, and what they tell", "[status]") {
  viewed_job job;
  CHECK_FALSE(job.is_known());
  job.take(roster({node(1, presence::active, 0), node(2, presence::active, 1)}), now);
  CHECK(job.is_known());
  node_report peer_report = report(2);
  peer_report.workers = {worker(0, condition::running), worker(1, condition::running, 3)};
  const job_news news = job.take(2, peer_report, 7, now);
  CHECK(news.has_changed);
  CHECK(news.has_steps);
  REQUIRE(job.nodes()[1].workers.size() == 2);
  CHECK(job.nodes()[1].workers[1].rank == 5);
  CHECK(job.nodes()[1].workers[1].progress_us == now);
  // Only steps.
  peer_report.begins = false;
  peer_report.workers = {worker(1, condition::running, 4)};
  CHECK_FALSE(job.take(2, peer_report, 7, now + second).has_changed);
  CHECK(job.nodes()[1].workers[1].progress_us == now + second);
  CHECK(job.nodes()[1].workers[0].state == condition::running);
  // What killed it is told; what it was to the server stays.
  peer_report.workers = {worker(0, condition::failed)};
  peer_report.events = {death(4, "killed")};
  const job_news end_news = job.take(2, peer_report, 7, now + 2 * second);
  REQUIRE(end_news.events.size() == 1);
  CHECK(end_news.events[0].kind == job_event::type::node_told);
  CHECK(end_news.events[0].peer == "host2_1_0");
  CHECK(end_news.events[0].state == "worker_ended");
  CHECK(end_news.events[0].reason == "killed");
  CHECK(end_news.events[0].rank == 4);
  // Another round.
  peer_report = report(3, 0);
  peer_report.begins = false;
  peer_report.round = 4;
  CHECK(job.take(2, peer_report, 7, now + 3 * second).has_changed);
  CHECK(job.nodes()[1].workers.size() == 3);
  CHECK(job.nodes()[1].workers[0].state == condition::waiting);
  job.take(roster({node(1, presence::waiting), node(2, presence::lost)}), now + 4 * second);
  CHECK(job.nodes()[1].workers.empty());
  CHECK(job.nodes()[1].since_us == now + 4 * second);
  CHECK_FALSE(job.take(2, report(2), 7, now + 5 * second).has_changed);
  job.forget();
  CHECK_FALSE(job.is_known());
  CHECK(job.nodes().empty());
}

TEST_CASE("viewed job: a report that comes before its roster is kept", "[status]") {
  viewed_job job;
  job.take(roster({node(1, presence::active, 0)}), now);
  job.take(2, report(2), 7, now);
  job.take(roster({node(1, presence::active, 0), node(2, presence::active, 1)}), now);
  CHECK(job.nodes()[1].workers.size() == 2);
  CHECK(job.nodes()[1].entry.group_rank == 1);
}

TEST_CASE("viewed job: what a worker uses is shown until another process has its place",
          "[status]") {
  viewed_job job;
  job.take(roster({node(1, presence::active, 0)}), now);
  node_report former = report(2);
  former.workers = {worker(0, condition::running), worker(1, condition::running)};
  former.used = {worker(1, condition::running)};
  former.used[0].usage = {2, 4096};
  job.take(1, former, 7, now);
  const auto usage = [&] { return job.nodes()[0].workers[1].usage; };
  CHECK(usage() == worker_usage{2, 4096});
  node_report later = report(2);
  later.begins = false;
  later.workers = {worker(1, condition::running, 5)};
  job.take(1, later, 7, now);
  CHECK(usage() == worker_usage{2, 4096});
  ++later.workers[0].pid;
  job.take(1, later, 7, now);
  CHECK(usage() == worker_usage());
}

TEST_CASE("viewed job: this node's own reports are known by their epoch", "[status]") {
  viewed_job job;
  job.take(roster({node(1, presence::active, 0)}), now);
  CHECK(job.take(1, report(2), 8, now).is_own);
  CHECK(job.nodes()[0].is_own);
  CHECK(job.nodes()[0].workers.empty());
}

TEST_CASE("viewed job: is bounded, whatever it is told", "[status]") {
  viewed_job job;
  std::vector<job_roster::entry> nodes;
  for (std::int64_t key = 1; key <= 3000; ++key) nodes.push_back(node(key, presence::active));
  job.take(roster(nodes), now);
  CHECK(job.nodes().size() == elastic::limits::viewed_nodes);
  std::size_t workers = 0;
  // Those after the fourth have none: the bound is reached, and not passed.
  for (std::int64_t key = 1; key <= 3000; ++key) job.take(key, report(1024), 7, now);
  for (const elastic::detail::viewed_node& entry : job.nodes()) workers += entry.workers.size();
  static_assert(elastic::limits::viewed_workers == 4 * 1024);
  CHECK(workers == elastic::limits::viewed_workers);
  CHECK(job.nodes()[3].workers.size() == 1024);
  job.take(5, report(1), 7, now + 10 * second);
  CHECK(job.nodes()[4].workers.empty());
  CHECK(job.nodes().size() == elastic::limits::viewed_nodes);
  // Within a second a node is heard so often.
  node_report event_report = report(1);
  event_report.events.assign(10, death(0, "again"));
  std::size_t events = 0;
  for (int count = 0; count < 1000; ++count) {
    events += job.take(1, event_report, 7, now + second).events.size();
  }
  CHECK(events == static_cast<std::size_t>(elastic::limits::heard_events_per_second));
  CHECK(job.take(1, event_report, 7, now + 2 * second).events.size() == 10);
}

// ---- what is shown ------------------------------------------------------------------------------

/// A view of the node of group rank 0, which serves, and of three others.
job_view whole_view() {
  journal_story story;
  story.begin().start(3, 4);
  job_view view = view_of(story.records);
  view.whole().take(roster({node(1, presence::active, 0), node(2, presence::active, 1),
                            node(3, presence::waiting), node(4, presence::lost)}),
                    story.now_us);
  view.whole().take(
      1,
      [] {
        node_report own_report = report(4, 0);
        own_report.epoch = 7;
        return own_report;
      }(),
      7, story.now_us);
  node_report peer_report = report(4, 4);
  for (int rank = 0; rank < 4; ++rank)
    peer_report.workers.push_back(worker(rank, condition::running, 90));
  peer_report.workers[3].state = condition::failed;
  peer_report.workers[3].reason = "out of <b>memory";
  view.whole().take(2, peer_report, 7, story.now_us);
  return view;
}

TEST_CASE("viewed job: as JSON, as text and as metrics", "[status]") {
  const job_view view = whole_view();
  const auto json = nlohmann::json::parse(elastic::detail::job_json(view, now));
  const auto& whole_job = json["whole"];
  CHECK(whole_job["active"] == 2);
  CHECK(whole_job["waiting"] == 1);
  CHECK(whole_job["lost"] == 1);
  CHECK(whole_job["min_nodes"] == 2);
  REQUIRE(whole_job["nodes"].size() == 4);
  CHECK(whole_job["nodes"][0]["own"] == true);
  CHECK(whole_job["nodes"][1]["workers"][3]["rank"] == 7);
  CHECK(whole_job["nodes"][1]["workers"][3]["reason"] == "out of <b>memory");
  CHECK(whole_job["nodes"][3]["presence"] == "lost");
  CHECK(json["progress"]["step"] == 90);
  const std::string text = elastic::detail::job_text(view, now);
  CHECK_THAT(text, contains_text("nodes 3 of 2 to 4  active: host1_1_0 host2_1_0"
                                 "  waiting: host3_1_0  lost: host4_1_0 ("));
  CHECK_THAT(text, contains_text("workers of other nodes\n  host2  rank 7 "));
  const std::string metrics = elastic::detail::metrics_text(view, metrics_format::text, now);
  CHECK_THAT(metrics, contains_text("elastic_nodes{state=\"active\"} 2\n"
                                    "elastic_nodes{state=\"waiting\"} 1\n"
                                    "elastic_nodes{state=\"lost\"} 1\n"));
  CHECK_THAT(elastic::detail::progress_json(view, 0, now), contains_text("[4,90,0,0"));
  const std::string checks = elastic::detail::ready_checks(view, now);
  CHECK_THAT(checks, contains_text("[+]agent running\n[+]round 3\n[+]workers 4 of 4 run\n"
                                   "[+]rendezvous nodes 3 of 2 to 4"));
  CHECK_THAT(checks, contains_text("\nready\n"));
}

TEST_CASE("viewed job: who is not there yet is said while others wait", "[status]") {
  journal_story story;
  story.begin().tell(journal_story::of(job_event::type::rendezvous_started));
  job_view view = view_of(story.records);
  job_roster waiting_roster = roster({node(1, presence::waiting)});
  waiting_roster.is_complete = false;
  view.whole().take(waiting_roster, story.now_us);
  CHECK(elastic::detail::ready_checks(view, story.now_us) ==
        "[-]agent rendezvous: waiting for the nodes of the next round\n"
        "[-]round none yet\n"
        "[-]workers 0 of 0 run\n"
        "[-]rendezvous nodes 1 of 2 to 4  waiting: host1_1_0\n"
        "not ready\n");
  CHECK_THAT(elastic::detail::metrics_text(view, metrics_format::text, story.now_us),
             contains_text("elastic_nodes{state=\"active\"} 0\n"
                           "elastic_nodes{state=\"waiting\"} 1\n"));
}

TEST_CASE("viewed job: one node alone tells what is the job's", "[status]") {
  journal_story story;
  story.begin().start(1, 2);
  job_view view = view_of(story.records);
  view.shown_elsewhere(true);
  CHECK(elastic::detail::metrics_text(view, metrics_format::text, now).find("elastic_world_size") ==
        std::string::npos);
  view.shown_elsewhere(false);
  CHECK_THAT(elastic::detail::metrics_text(view, metrics_format::text, now),
             contains_text("elastic_world_size 4\n"));
}

TEST_CASE("viewed job: an answer has room for the whole job", "[status]") {
  journal_story story;
  story.begin().start(1, 4096);
  job_view view = view_of(story.records);
  std::vector<job_roster::entry> nodes;
  for (std::int64_t key = 1; key <= 3000; ++key) {
    nodes.push_back(node(key, presence::active));
    nodes.back().host = nodes.back().name = std::string(255, '\x01');
  }
  view.whole().take(roster(nodes), now);
  for (std::int64_t key = 1; key <= 2048; ++key) {
    node_report full_report = report(2);
    full_report.reason = std::string(240, '\x01');
    for (int rank = 0; rank < 2; ++rank) {
      full_report.workers.push_back(worker(rank, condition::failed, INT64_MAX));
      full_report.workers.back().total = INT64_MAX;
      full_report.workers.back().pid = INT64_MAX;
      full_report.workers.back().exit_code = INT64_MIN;
      full_report.workers.back().reason = std::string(240, '\x01');
    }
    view.whole().take(key, full_report, 7, now);
  }
  for (std::size_t place = 0; place < 4096; ++place) view.take(place, {999.999, INT64_MAX});
  const std::string json = elastic::detail::job_json(view, now);
  CHECK(json.size() <= elastic::limits::status_answer_bytes);
  CHECK(nlohmann::json::parse(json)["whole"]["nodes"].size() == 2048);
}

// ---- two nodes ----------------------------------------------------------------------------------

/// The monitors of the node that serves and of another one, and what goes between them.
struct two_nodes {
  two_nodes() {
    elastic::job_journal::options options;
    options.node = "host1";
    journal = std::make_shared<job_journal>(options);
    journal->add(monitor);
    host->begin_serving(this, [this] { ++demands; });
    host->listed(roster({node(1, presence::active, 0), node(2, presence::active, 1)}));
    peer->on_report([this] { ++notes; });
  }

  void tell(const journal_story& story) {
    for (elastic::journal_record record : story.records) {
      record.epoch = 8;
      peer->take(record);
    }
  }

  /// How many pieces the other node has sent.
  int carry() {
    int count = 0;
    for (std::string text = peer->next_report(); !text.empty(); text = peer->next_report()) {
      host->reported(2, text);
      ++count;
    }
    return count;
  }

  int demands = 0;
  int notes = 0;
  std::shared_ptr<job_journal> journal;
  std::shared_ptr<job_monitor> monitor = std::make_shared<job_monitor>();
  std::shared_ptr<job_monitor_core> host = elastic::detail::internals::core_of(*monitor);
  std::shared_ptr<job_monitor_core> peer = std::make_shared<job_monitor_core>(nullptr);
};

TEST_CASE("job monitor: tells the node that serves as much as that wants to hear", "[status]") {
  two_nodes nodes;
  journal_story story;
  story.begin().start(3, 2);
  nodes.tell(story);
  CHECK(nodes.host->demand() == report_demand::nothing);
  CHECK(nodes.notes == 0);
  CHECK(nodes.carry() == 0);
  nodes.host->show(nodes.journal);
  CHECK(nodes.demands == 1);
  CHECK(nodes.host->demand() == report_demand::changes);
  nodes.peer->demanded(report_demand::changes);
  CHECK(nodes.notes == 1);
  CHECK(nodes.carry() == 1);
  CHECK(nodes.host->view()->whole().nodes()[1].workers.size() == 2);
  CHECK(nodes.peer->view()->is_shown_elsewhere());
  // Steps are not asked for.
  elastic::worker_progress step;
  step.step = 5;
  nodes.peer->progressed(step);
  CHECK(nodes.carry() == 0);
  nodes.host->begin_following();
  CHECK(nodes.host->demand() == report_demand::progress);
  nodes.peer->demanded(report_demand::progress);
  CHECK(nodes.carry() == 1);
  CHECK(nodes.host->view()->whole().nodes()[1].workers[0].step == 5);
  CHECK(nodes.host->progress_us() > 0);
  nodes.host->end_following();
  CHECK(nodes.demands == 3);
  CHECK(nodes.host->demand() == report_demand::changes);
  nodes.peer->demanded(report_demand::changes);
  // What matters becomes a record of the host's journal, with the host's numbers.
  journal_story death_story = story;
  death_story.end_worker(1, 0, 9, "killed");
  nodes.tell(death_story);
  CHECK(nodes.carry() == 1);
  REQUIRE(nodes.journal->after(0).size() == 1);
  const elastic::journal_record record = nodes.journal->after(0).front();
  CHECK(record.epoch == nodes.journal->epoch());
  CHECK(record.sequence == 1);
  CHECK(record.event.peer == "host2_1_0");
  CHECK(elastic::parse_journal_line(to_json_line(record)) == record);
  // Without a connection nothing is told, and on the next one everything.
  nodes.peer->demanded(report_demand::nothing);
  CHECK_FALSE(nodes.peer->view()->is_shown_elsewhere());
  CHECK(nodes.carry() == 0);
  nodes.peer->demanded(report_demand::changes);
  CHECK(parse_node_report(nodes.peer->next_report()).begins);
}

TEST_CASE("job monitor: a server that has ended takes its view of the job along", "[status]") {
  two_nodes nodes;
  const int later_server = 0;
  const std::int64_t changes_before = nodes.host->changes();
  CHECK(nodes.host->view()->whole().is_known());
  // The one after it means other nodes by the same keys.
  nodes.host->begin_serving(&later_server, {});
  CHECK_FALSE(nodes.host->view()->whole().is_known());
  CHECK(nodes.host->changes() > changes_before);
  nodes.host->listed(roster({node(2, presence::active, 0)}));
  nodes.host->end_serving(&nodes);
  CHECK(nodes.host->view()->whole().is_known());
  const std::int64_t changes_between = nodes.host->changes();
  nodes.host->end_serving(&later_server);
  CHECK_FALSE(nodes.host->view()->whole().is_known());
  CHECK(nodes.host->changes() > changes_between);
}

TEST_CASE("job monitor: viewers share a view until the job changes", "[status]") {
  two_nodes nodes;
  job_monitor_core& host = *nodes.host;
  nodes.journal->record(journal_story::of(job_event::type::agent_started));
  const auto view = host.view();
  CHECK(host.view() == view);
  host.measure_stores([] { return elastic::detail::viewed_stores{{{"get", 1}}, 1}; });
  CHECK(host.stores()->keys == 1);
  CHECK(host.view() == view);
  auto former = view;
  const auto is_replaced = [&] { return std::exchange(former, host.view()) != host.view(); };
  nodes.journal->record(journal_story::of(job_event::type::rendezvous_started));
  CHECK(is_replaced());
  host.progressed({});
  CHECK(is_replaced());
  host.listed(roster({node(1, presence::active, 0)}));
  CHECK(is_replaced());
  host.demanded(report_demand::changes);
  CHECK(is_replaced());
  // That of an earlier viewer is as it was.
  CHECK(view->job().activity() == elastic::detail::agent_activity::starting);
  CHECK(host.view()->job().activity() == elastic::detail::agent_activity::meeting);
}

TEST_CASE("job monitor: what nobody can read changes nothing", "[status]") {
  two_nodes nodes;
  const std::int64_t changes_before = nodes.host->changes();
  for (const char* text : {"", "{}", "[]", "\xff", "{\"begins\": 1}"}) {
    nodes.host->reported(2, text);
  }
  CHECK(nodes.host->changes() == changes_before);
}

TEST_CASE("job monitor: tells itself nothing but who it is", "[status]") {
  two_nodes nodes;
  job_monitor_core& host = *nodes.host;
  nodes.journal->record(journal_story::of(job_event::type::agent_started));
  host.show(nodes.journal);
  host.on_report([&] { ++nodes.notes; });
  host.demanded(report_demand::changes);
  CHECK(nodes.notes == 1);
  host.reported(1, host.next_report());
  CHECK(host.view()->whole().nodes()[0].is_own);
  CHECK_FALSE(host.view()->is_shown_elsewhere());
  nodes.journal->record(journal_story::of(job_event::type::rendezvous_started));
  CHECK(nodes.notes == 1);
  CHECK(host.next_report().empty());
}

}  // namespace viewed_job_tests
