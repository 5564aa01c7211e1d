// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/observe/merged_trace.hpp>
#include <elastic/observe/trace_file.hpp>

#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace trace_tests {

using namespace elastic;
using kind = job_event_kind;
using json = nlohmann::json;

/// A run of two workers: the second fails, both start again and succeed. `offset_us` is how far the
/// node's clock is ahead.
journal_contents journal_of(const std::string& node, std::int64_t offset_us, int nodes = 2) {
  journal_contents journal;
  std::int64_t now = 1'000'000;
  std::optional<std::int64_t> round;
  const auto tell = [&](kind event_kind, std::int64_t delay, std::string state = "") -> job_event& {
    now += delay;
    journal_record record;
    record.sequence = static_cast<std::int64_t>(journal.records.size()) + 1;
    record.epoch = 1'000'000 + offset_us;
    record.time_us = now + offset_us;
    record.node = node;
    record.event.kind = event_kind;
    record.event.state = std::move(state);
    record.event.round = round;
    journal.records.push_back(std::move(record));
    return journal.records.back().event;
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
  return journal;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The spans of a trace as "pid/tid name from+length", in the order of their ends; every one that
/// begins has to end.
std::vector<std::string> spans_of(const json& events) {
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

TEST_CASE("observe: a trace has what the agent was at, and the lives of its workers", "[observe]") {
  const json trace = json::parse(merged_trace({journal_of("host0", 0)}));
  const std::vector<std::string> expected{"1/0 rendezvous 1000000+6000",
                                          "1/0 start 1006000+2000",
                                          "1/2 rank 5 1008000+30000",
                                          "1/0 work 1008000+30000",
                                          "1/1 rank 4 1008000+34000",
                                          "1/0 stop 1038000+4000",
                                          "1/0 wait before restart 1042000+1000",
                                          "1/0 rendezvous 1043000+5000",
                                          "1/0 start 1048000+2000",
                                          "1/1 rank 4 1050000+10000",
                                          "1/2 rank 5 1050000+20000",
                                          "1/0 work 1050000+20000",
                                          "1/0 exit barrier 1070000+500"};
  CHECK(spans_of(trace.at("traceEvents")) == expected);
  int moments = 0;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "i" || event.at("name") != "rank 5 failed") continue;
    ++moments;
    CHECK(event.at("args").at("reason") == "exit code \"1\"\n");
    CHECK(event.at("tid") == 2);
  }
  CHECK(moments == 1);
}

TEST_CASE("observe: a trace can be read whenever its agent ends", "[observe]") {
  const test::temporary_directory folder;
  const std::string path = folder / "trace.json";
  std::ofstream(path) << "of an earlier run";
  trace_file file(path);
  for (const journal_record& record : journal_of("host0", 0).records) {
    file.take(record);
    // What a viewer makes of an array without its end.
    std::string text = text_of(path);
    text.resize(text.rfind(','));
    const json events = json::parse(text + "]");
    CHECK(events.size() >= 2);
    CHECK(events[0].at("args").at("name") == "host0");
  }
}

TEST_CASE("observe: a trace that cannot be written is said once", "[observe]") {
  const auto log = std::make_shared<test::log_recorder>();
  trace_file file("/dev/full", log->log());
  for (const journal_record& record : journal_of("host0", 0).records) file.take(record);
  CHECK(log->count("the trace '/dev/full' cannot be written, records are lost: No space") == 1);
}

TEST_CASE("observe: clocks are aligned by the rounds that nodes have in common", "[observe]") {
  const journal_contents first_journal = journal_of("host0", 0);
  const journal_contents ahead_journal = journal_of("host1", 7'000'000);
  const journal_contents behind_journal = journal_of("host2", -300'000);
  using shifts = std::vector<std::optional<std::int64_t>>;
  CHECK(clock_shifts({first_journal, ahead_journal, behind_journal}) ==
        shifts{0, -7'000'000, 300'000});
  CHECK(clock_shifts({}).empty());
  const json trace = json::parse(merged_trace({first_journal, ahead_journal}));
  const auto spans = spans_of(trace.at("traceEvents"));
  REQUIRE(spans.size() == 26);
  CHECK(spans[13] == "2/0 rendezvous 1000000+6000");
}

TEST_CASE("observe: a clock that met no other is left as it is", "[observe]") {
  using shifts = std::vector<std::optional<std::int64_t>>;
  journal_contents other_journal = journal_of("host1", 5'000'000);
  for (journal_record& record : other_journal.records) record.event.run_id += record.event.run_id;
  CHECK(clock_shifts({journal_of("host0", 0), other_journal}) == shifts{0, std::nullopt});
  // Another run with the same run id.
  CHECK(clock_shifts({journal_of("host0", 0), journal_of("host1", 7'200'000'000)}) ==
        shifts{0, std::nullopt});
  // Nodes of one round each have nobody to be compared with.
  const journal_contents single_journal = journal_of("host1", 5'000'000, 1);
  CHECK(clock_shifts({journal_of("host0", 0), single_journal}) == shifts{0, std::nullopt});
}

TEST_CASE("observe: a clock is aligned by way of others", "[observe]") {
  journal_contents first_journal = journal_of("host0", 0);
  journal_contents second_journal = journal_of("host1", 100);
  journal_contents third_journal = journal_of("host2", 1000);
  // Round 1 had the first two, round 2 the last two.
  for (journal_record& record : first_journal.records) {
    if (record.event.round == 2) record.event.round = 20;
  }
  for (journal_record& record : third_journal.records) {
    if (record.event.round == 1) record.event.round = 10;
  }
  using shifts = std::vector<std::optional<std::int64_t>>;
  CHECK(clock_shifts({first_journal, second_journal, third_journal}) == shifts{0, -100, -1000});
}

TEST_CASE("observe: hostile numbers of a journal make a trace all the same", "[observe]") {
  journal_contents journal;
  for (const auto& [event_kind, name] : job_event_kinds) {
    for (const std::int64_t number : {INT64_MIN, INT64_MAX}) {
      journal_record record;
      record.epoch = record.time_us = INT64_MAX;
      record.node = "\"\xff";
      record.event.kind = event_kind;
      record.event.round = record.event.attempt = record.event.rank = number;
      record.event.local_rank = record.event.local_world_size = record.event.base_rank = number;
      record.event.group_world_size = 2;
      journal.records.push_back(record);
      record.time_us = 0;
      journal.records.push_back(record);
    }
  }
  CHECK_NOTHROW(json::parse(merged_trace({journal, journal})));
}

}  // namespace trace_tests
