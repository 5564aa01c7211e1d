// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/job_condition.hpp>
#include <elastic/status/detail/job_document.hpp>

#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace job_condition_tests {

using elastic::job_event;
using elastic::worker_progress;
using elastic::detail::job_roster;
using elastic::detail::job_view;
using elastic::detail::node_presence;
using elastic::test::contains_text;
using elastic::test::journal_story;
using elastic::test::view_of;
using type = job_event::type;

/// "stalled: rank 1 sleeps".
std::string shown(const job_view& view) {
  const auto [name, reason] = elastic::detail::condition_of(view);
  return reason.empty() ? std::string(name) : fmt::format("{}: {}", name, reason);
}
std::string shown(const journal_story& story) { return shown(view_of(story.records)); }

journal_story& tell(journal_story& story, type kind, std::string reason = {}) {
  return story.tell(journal_story::of(kind, std::move(reason)));
}

/// What a job of two nodes knows of them when so many have come.
job_roster roster_of(int present) {
  job_roster roster;
  roster.min_nodes = roster.max_nodes = 2;
  roster.waiting = present;
  for (int node = 0; node < present; ++node) {
    roster.nodes.push_back({node + 1, "host", "host_1", node_presence::waiting, -1});
  }
  return roster;
}

TEST_CASE("job condition: a job waits for its nodes, starts, runs and succeeds", "[status]") {
  journal_story story;
  CHECK(shown(story.begin()) == "starting");
  CHECK(shown(tell(story, type::rendezvous_started)) ==
        "waiting: for the nodes of the round");
  job_event joined = journal_story::of(type::round_joined);
  joined.round = 0;
  CHECK(shown(story.tell(joined)) == "starting");
  CHECK(shown(story.start(0, 2)) == "running");
  CHECK(shown(tell(story, type::exit_barrier_started)) ==
        "waiting: for the workers of other nodes to end");
  CHECK(shown(story.end("succeeded")) == "succeeded");
}

TEST_CASE("job condition: a node that serves the others counts who is there", "[status]") {
  journal_story story;
  job_view view = view_of(tell(story.begin(), type::rendezvous_started).records);
  view.whole().take(roster_of(1), story.now_us);
  CHECK(shown(view) == "waiting: 1 of 2 nodes is here");
  view.whole().take(roster_of(2), story.now_us);
  CHECK(shown(view) == "waiting: for the nodes of the round");
}

TEST_CASE("job condition: a restart says what ended the attempt before, until workers run",
          "[status]") {
  journal_story story;
  story.begin().start(0, 2).wait(5).end_worker(1, 3);
  CHECK(shown(story) == "stopping: rank 1 ended: exit:3");
  const std::string restarting = "restarting: rank 1 ended: exit:3";
  CHECK(shown(story.restart(1)) == restarting);
  CHECK(shown(tell(story, type::rendezvous_started)) == restarting);
  CHECK(shown(story.start(1, 2, 1)) == "running");
  CHECK(shown(story.end("failed", "no restart is left")) == "failed: no restart is left");
}

TEST_CASE("job condition: a job that makes no steps has stalled, and tells no time that is left",
          "[status]") {
  journal_story story;
  story.begin().start(0, 2);
  const auto report = [&](job_view& view) {
    worker_progress made;
    made.total = 100;
    for (made.step = 0; made.step < 3; ++made.step) view.take(made, story.wait(1).now_us);
    return nlohmann::json::parse(elastic::detail::job_json(view, story.now_us));
  };
  job_view view = view_of(story.records);
  CHECK(report(view)["progress"]["seconds_left"] == 98);
  view = view_of(tell(story, type::stall_found, "rank 1 sleeps").records);
  CHECK(shown(view) == "stalled: rank 1 sleeps");
  const nlohmann::json stalled = report(view);
  CHECK(stalled["state"] == "running");
  CHECK(stalled["condition"] == "stalled");
  CHECK(stalled["condition_reason"] == "rank 1 sleeps");
  CHECK_FALSE(stalled["progress"].contains("seconds_left"));
  const std::string text = elastic::detail::job_text(view, story.now_us);
  CHECK_THAT(text, contains_text("  stalled (rank 1 sleeps)\n"));
  CHECK_THAT(text, !contains_text(" left"));
  CHECK(shown(tell(story, type::stall_ended)) == "running");
}

TEST_CASE("job condition: a pause is one until the job goes on", "[status]") {
  journal_story story;
  story.begin().start(0, 2);
  job_event ended = journal_story::of(type::round_ended, "paused by 'elasticrun pause'");
  ended.state = "paused";
  story.tell(ended);
  tell(story, type::rendezvous_started);
  CHECK(shown(tell(story, type::job_paused, "paused by root")) == "paused: paused by root");
  tell(story, type::job_resumed);
  CHECK(shown(story) == "restarting: paused by 'elasticrun pause'");
  CHECK(shown(story.start(1, 2)) == "running");
}

}  // namespace job_condition_tests
