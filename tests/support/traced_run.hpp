// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/journal_reader.hpp>
#include <support/catch.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace elastic::test {

/// A run of two workers: the second fails, and both restart and succeed. `offset_us` is how far the
/// node's clock is ahead.
inline detail::journal_contents journal_of(const std::string& node, std::int64_t offset_us,
                                           int nodes = 2) {
  using kind = job_event::type;
  detail::journal_contents contents;
  std::int64_t now = 1'000'000;
  std::optional<std::int64_t> round;
  const auto tell = [&](job_event::type event_kind, std::int64_t delay,
                        std::string state = "") -> job_event& {
    now += delay;
    journal_record record;
    record.sequence = static_cast<std::int64_t>(contents.records.size()) + 1;
    record.epoch = 1'000'000 + offset_us;
    record.time_us = now + offset_us;
    record.node = node;
    record.event.kind = event_kind;
    record.event.state = std::move(state);
    record.event.round = round;
    contents.records.push_back(std::move(record));
    return contents.records.back().event;
  };
  tell(kind::agent_started, 0).run_id = "job";
  for (int attempt = 0; attempt < 2; ++attempt) {
    tell(kind::rendezvous_started, 1000);
    round = attempt + 1;
    tell(kind::round_joined, 5000).group_world_size = nodes;
    tell(kind::workers_starting, 0);
    job_event& start_event = tell(kind::workers_started, 2000);
    start_event.local_world_size = 2;
    start_event.base_rank = 4;
    if (attempt == 1) break;
    job_event& failure_event = tell(kind::worker_ended, 30'000, "failed");
    failure_event.local_rank = 1;
    failure_event.rank = 5;
    failure_event.reason = "exit code \"1\"\n";
    tell(kind::workers_judged, 0, "failed");
    tell(kind::round_ended, 0, "worker_failed");
    tell(kind::restart_decided, 0);
    tell(kind::workers_stopped, 4000);
  }
  for (const std::int64_t local_rank : {0, 1}) {
    job_event& end_event = tell(kind::worker_ended, 10'000, "succeeded");
    end_event.local_rank = local_rank;
    end_event.rank = 4 + local_rank;
  }
  tell(kind::workers_judged, 0, "succeeded");
  tell(kind::exit_barrier_started, 0);
  tell(kind::exit_barrier_ended, 500, "passed");
  tell(kind::agent_ended, 100, "succeeded");
  return contents;
}

/// Each kind of event, with numbers at the limits of their ranges but for the records' own.
inline detail::journal_contents hostile_journal() {
  detail::journal_contents contents;
  for (const auto& [event_kind, name] : job_event_kinds) {
    for (const std::int64_t number : {INT64_MIN, INT64_MAX}) {
      journal_record record;
      record.sequence = static_cast<std::int64_t>(contents.records.size()) + 1;
      record.epoch = record.time_us = INT64_MAX;
      record.node = "\"\xff";
      record.event.kind = event_kind;
      record.event.round = record.event.attempt = record.event.rank = number;
      record.event.local_rank = record.event.local_world_size = record.event.base_rank = number;
      record.event.group_world_size = 2;
      contents.records.push_back(record);
      ++record.sequence;
      record.time_us = 0;
      contents.records.push_back(record);
    }
  }
  return contents;
}

/// The spans of a trace as "pid/tid name from+length", in the order of their ends; every span that
/// begins must end.
inline std::vector<std::string> spans_of(const nlohmann::json& events) {
  using nlohmann::json;
  std::map<std::pair<int, int>, std::vector<json>> open_spans;
  std::vector<std::string> spans;
  for (const json& event : events) {
    const std::pair<int, int> track{event.at("pid"), event.at("tid")};
    const std::string type = event.at("ph");
    if (type == "B") open_spans[track].push_back(event);
    if (type != "E") continue;
    REQUIRE_FALSE(open_spans[track].empty());
    const json begin = open_spans[track].back();
    open_spans[track].pop_back();
    const std::int64_t start = begin.at("ts");
    const std::int64_t end = event.at("ts");
    spans.push_back(std::to_string(track.first) + "/" + std::to_string(track.second) + " " +
                    begin.at("name").get<std::string>() + " " + std::to_string(start) + "+" +
                    std::to_string(end - start));
  }
  for (const auto& [track, unclosed_spans] : open_spans) CHECK(unclosed_spans.empty());
  return spans;
}

}  // namespace elastic::test
