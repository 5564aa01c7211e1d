// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/event_sentence.hpp>

#include <elastic/telemetry/job_event.hpp>
#include <support/catch.hpp>

#include <string>
#include <utility>
#include <vector>

namespace event_sentence_tests {

using elastic::job_event;
using elastic::detail::event_sentence;

job_event of_worker(job_event::type kind, std::string reason, std::string state = {}) {
  job_event event;
  event.kind = kind;
  event.reason = std::move(reason);
  event.state = std::move(state);
  event.rank = 3;
  event.local_rank = 1;
  event.pid = 4711;
  return event;
}

job_event told(std::string what, std::string reason) {
  job_event event;
  event.kind = job_event::type::node_told;
  event.peer = "node7";
  event.state = std::move(what);
  event.reason = std::move(reason);
  event.rank = 3;
  return event;
}

TEST_CASE("event sentence: every kind has one, without the name of the kind", "[status]") {
  for (const auto& [kind, name] : elastic::job_event_kinds) {
    job_event event;
    event.kind = kind;
    const std::string sentence = event_sentence(event);
    CAPTURE(name, sentence);
    CHECK_FALSE(sentence.empty());
    CHECK(sentence.find(name) == std::string::npos);
  }
}

TEST_CASE("event sentence: it has all known details of a worker", "[status]") {
  using kind = job_event::type;
  struct row {
    job_event event;
    std::string sentence;
  };
  const std::string who = "rank 3 (local rank 1, pid 4711)";
  const std::vector<row> rows = {
      {of_worker(kind::worker_ended, "exit code 1", "failed"), who + " failed: exit code 1"},
      {of_worker(kind::worker_ended, "", "succeeded"), who + " succeeded"},
      {of_worker(kind::worker_suspected, "it works again", "none"),
       who + " is no longer suspected: it works again"},
      {of_worker(kind::worker_suspected, "it waits", "blocked"), who + " seems blocked: it waits"},
      {of_worker(kind::failure_described, ""), who + " left no error"}};
  for (const row& entry : rows) CHECK(event_sentence(entry.event) == entry.sentence);
}

job_event of(job_event::type kind, std::string reason, std::string state = {}) {
  job_event event;
  event.kind = kind;
  event.reason = std::move(reason);
  event.state = std::move(state);
  return event;
}

TEST_CASE("event sentence: what became of a round, and why", "[status]") {
  using kind = job_event::type;
  CHECK(event_sentence(of(kind::round_ended, "rank 1 ended: exit code 1", "worker_failed")) ==
        "the round ended because a worker failed (rank 1 ended: exit code 1)");
  CHECK(event_sentence(of(kind::round_ended, "", "node_lost")) ==
        "the round ended because a node was lost");
  CHECK(event_sentence(of(kind::restart_decided, "restart 1 of 3, after 2 s")) ==
        "the workers restart (restart 1 of 3, after 2 s)");
  CHECK(event_sentence(of(kind::restart_decided, "restart 1 of 3", "replace")) ==
        "the other workers keep their processes (restart 1 of 3)");
  job_event joined = of(kind::round_joined, "");
  joined.round = 2;
  joined.seconds = 0.0001;
  CHECK(event_sentence(joined) == "joined round 2 at once as node 0 of 1, rank 0 of 1");
  joined.seconds = 2.5;
  CHECK(event_sentence(joined) == "joined round 2 in 2.5 s as node 0 of 1, rank 0 of 1");
}

TEST_CASE("event sentence: what became of a generation in memory", "[status]") {
  using kind = job_event::type;
  job_event restored = of(kind::vault_restored, "");
  restored.generation = 812;
  restored.step = 8120;
  restored.seconds = 0.4;
  CHECK(event_sentence(restored) ==
        "restored generation 812 from memory, of step 8120, in 0.4 s");
  restored.kind = kind::vault_committed;
  CHECK(event_sentence(restored) == "generation 812 is in memory, of step 8120");
  job_event dropped = of(kind::vault_dropped, "a part of it is damaged");
  dropped.generation = 812;
  CHECK(event_sentence(dropped) ==
        "generation 812 in memory is given up: a part of it is damaged");
  dropped.kind = kind::vault_skipped;
  dropped.rank = 3;
  CHECK(event_sentence(dropped) ==
        "rank 3 skipped the commit of generation 812: a part of it is damaged");
}

TEST_CASE("event sentence: an event from another node has the original sentence", "[status]") {
  CHECK(event_sentence(told("worker_hung", "no heartbeat")) ==
        "on node7: rank 3 was hung: no heartbeat");
  CHECK(event_sentence(told("agent_ended", "")) == "on node7: the agent ended");
  // Of a later release, or made up: it is printable, and no sentence within a sentence.
  CHECK(event_sentence(told("a \x1b kind", "x")) == "on node7: a \\x1b kind: x");
  CHECK(event_sentence(told("node_told", "x")) == "on node7: node_told: x");
}

TEST_CASE("event sentence: spans of time as people say them", "[status]") {
  using elastic::detail::span_words;
  const auto [seconds, text] = GENERATE(table<double, std::string>({
      {0, "0 s"},
      {0.25, "0.25 s"},
      {1, "1 s"},
      {9.5, "9.5 s"},
      {9.96, "10 s"},
      {59.4, "59 s"},
      {61, "1 min 1 s"},
      {3599.7, "1 h 0 min"},
      {7800, "2 h 10 min"},
  }));
  CHECK(span_words(seconds) == text);
}

}  // namespace event_sentence_tests
