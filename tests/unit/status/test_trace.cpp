// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/status/trace_file.hpp>

#include <elastic/status/detail/trace_events.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>
#include <support/traced_run.hpp>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace trace_tests {

using namespace elastic;
using json = nlohmann::json;
using test::journal_of;
using test::spans_of;

json events_of(const detail::journal_contents& journal) {
  detail::trace_events events(1);
  json trace = json::array();
  for (const journal_record& record : journal.records) {
    for (const std::string& event : events.take(record)) trace.push_back(json::parse(event));
  }
  return trace;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("trace: a trace has what the agent was at, and the lives of its workers", "[status]") {
  const json trace = events_of(journal_of("host0", 0));
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
  CHECK(spans_of(trace) == expected);
  int moments = 0;
  for (const json& event : trace) {
    if (event.at("ph") != "i" || event.at("name") != "rank 5 failed") continue;
    ++moments;
    CHECK(event.at("args").at("reason") == "exit code \"1\"\n");
    CHECK(event.at("tid") == 2);
  }
  CHECK(moments == 1);
}

TEST_CASE("trace: each role of a job is a process of its own", "[status]") {
  using kind = job_event::type;
  detail::trace_events events(3);
  std::vector<std::string> seen;
  std::int64_t sequence = 0;
  const auto take = [&](kind what, std::int64_t epoch, const std::string& role,
                        const std::string& run_id = "") {
    journal_record record;
    record.sequence = ++sequence;
    record.node = "node0";
    record.epoch = epoch;
    record.event.kind = what;
    record.event.role = role;
    record.event.run_id = run_id;
    for (const std::string& text : events.take(record)) {
      const json event = json::parse(text);
      const bool is_name = event.at("ph") == "M" && event.at("name") == "process_name";
      const json& named = is_name ? event.at("args") : event;
      const std::string name = named.value("name", std::string("-"));
      if (event.at("ph") == "M" && !is_name) continue;
      const std::int64_t process = event.at("pid");
      seen.push_back(fmt::format("{}+{} {} {}", process % (1 << 20), process >> 20,
                                 event.at("ph").get<std::string>(), name));
    }
  };
  take(kind::agent_started, 10, "trainer", "grpo/trainer");
  take(kind::agent_started, 11, "rollout", "grpo/rollout");
  take(kind::workers_starting, 10, "trainer");
  // All roles start again.
  take(kind::agent_started, 12, "trainer", "grpo/trainer_1");
  take(kind::workers_starting, 11, "rollout");
  CHECK(seen == std::vector<std::string>{
                    "3+0 M trainer on node0", "3+0 B rendezvous", "3+1 M rollout on node0",
                    "3+1 B rendezvous", "3+0 E -", "3+0 B start", "3+0 E -",
                    "3+0 M trainer on node0", "3+0 B rendezvous", "3+1 E -", "3+1 B start"});
  seen.clear();
  // In a job without roles, only the first event has the name of one.
  take(kind::agent_started, 20, "default", "job");
  take(kind::workers_starting, 20, "");
  CHECK(seen == std::vector<std::string>{"3+2 M node0", "3+2 B rendezvous", "3+2 E -",
                                         "3+2 B start"});
}

TEST_CASE("trace: many roles are told apart by their epochs, also by that of 0", "[status]") {
  using kind = job_event::type;
  constexpr std::int64_t roles = 2000;
  detail::trace_events events(0);
  std::int64_t sequence = 0;
  const auto process_of = [&](kind what, std::int64_t epoch, const std::string& role) {
    journal_record record;
    record.sequence = ++sequence;
    record.node = "node0";
    record.epoch = epoch;
    record.event.kind = what;
    record.event.role = role;
    record.event.run_id = "job/" + role;
    const auto texts = events.take(record);
    return texts.empty() ? -1 : json::parse(texts.back()).at("pid").get<std::int64_t>() >> 20;
  };
  std::vector<std::int64_t> begun;
  std::vector<std::int64_t> continued;
  std::vector<std::int64_t> expected;
  for (std::int64_t role = 0; role < roles; ++role) {
    begun.push_back(process_of(kind::agent_started, role, fmt::format("role{}", role)));
    expected.push_back(role);
  }
  // Later events are found by their epoch alone.
  for (std::int64_t role = 0; role < roles; ++role) {
    continued.push_back(process_of(kind::workers_starting, role, ""));
  }
  CHECK(begun == expected);
  CHECK(continued == expected);
}

TEST_CASE("trace: a record that was taken before adds nothing", "[status]") {
  const detail::journal_contents journal = journal_of("host0", 0);
  detail::journal_contents twice = journal;
  twice.records.insert(twice.records.end(), journal.records.begin(), journal.records.end());
  CHECK(events_of(twice) == events_of(journal));
}

TEST_CASE("trace: a trace can be read whenever its agent ends", "[status]") {
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

TEST_CASE("trace: a trace that cannot be written is said once", "[status]") {
  const auto log = std::make_shared<test::log_recorder>();
  trace_file file("/dev/full", log->log());
  for (const journal_record& record : journal_of("host0", 0).records) file.take(record);
  CHECK(log->count("the trace '/dev/full' cannot be written, records are lost: No space") == 1);
}

TEST_CASE("trace: hostile numbers of a journal make a trace all the same", "[status]") {
  CHECK_NOTHROW(events_of(test::hostile_journal()));
}

}  // namespace trace_tests
