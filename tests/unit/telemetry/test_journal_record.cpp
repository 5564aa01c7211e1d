// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <support/catch.hpp>

#include <set>
#include <string>

namespace journal_record_tests {

using namespace elastic;

journal_record full_record() {
  journal_record record;
  record.sequence = 7;
  record.epoch = 1'700'000'000'000'000;
  record.time_us = 1'700'000'001'250'000;
  record.node = "host0";
  job_event& event = record.event;
  event.kind = job_event::type::worker_ended;
  event.reason = "exit code 1 with \"quotes\", a\nline and \xc3\xa4";
  event.state = "failed";
  event.run_id = "job1";
  event.backend = "c10d";
  event.role = "trainer";
  event.round = 3;
  event.attempt = 2;
  event.rank = 17;
  event.local_rank = 1;
  event.pid = 4711;
  event.exit_code = 1;
  event.signal = 9;
  event.group_rank = 4;
  event.group_world_size = 5;
  event.world_size = 32;
  event.base_rank = 16;
  event.local_world_size = 8;
  event.restarts = 1;
  event.max_restarts = 5;
  event.step = 18240;
  event.elsewhere = 1;
  event.count = 31;
  event.seconds = 0.25;
  event.allowed = 30;
  event.pids = {4710, 4711};
  return record;
}

std::string refusal_of(const std::string& line) {
  try {
    parse_journal_line(line);
  } catch (const error& refusal) {
    CHECK(refusal.code() == errc::protocol_violation);
    return refusal.what();
  }
  return "";
}

TEST_CASE("journal: a journal record is read as it was written, each kind, each field",
          "[telemetry]") {
  journal_record record = full_record();
  record.event.host = "machine7";
  CHECK(parse_journal_line(to_json_line(record)) == record);
  CHECK(to_json_line(record).find('\n') == std::string::npos);
  std::set<std::string> names;
  for (const auto& [kind, name] : job_event_kinds) {
    journal_record bare_record;
    bare_record.sequence = 1;
    bare_record.event.kind = kind;
    CHECK(parse_journal_line(to_json_line(bare_record)) == bare_record);
    CHECK(job_event_kind_of(to_string(kind)) == kind);
    names.emplace(name);
  }
  CHECK(names.size() == job_event_kinds.size());
  CHECK_FALSE(job_event_kind_of("nothing"));
}

TEST_CASE("journal: a record has its bytes, which older files have", "[telemetry]") {
  CHECK(to_json_line(full_record()) ==
        R"({"seq": 7, "epoch": 1700000000000000, "time_us": 1700000001250000, "node": "host0", )"
        R"("kind": "worker_ended", "round": 3, "attempt": 2, "rank": 17, "local_rank": 1, )"
        R"("pid": 4711, "exit_code": 1, "signal": 9, "group_rank": 4, "group_world_size": 5, )"
        R"("world_size": 32, "base_rank": 16, "local_world_size": 8, "restarts": 1, )"
        R"("max_restarts": 5, "step": 18240, "elsewhere": 1, "count": 31, "seconds": 0.25, )"
        R"("allowed": 30, "reason": "exit code 1 with \"quotes\", a\nline and ä", )"
        R"("state": "failed", "run_id": "job1", "backend": "c10d", "role": "trainer", )"
        R"("pids": [4710, 4711]})");
}

TEST_CASE("journal: the line of a record has only the fields that its event has", "[telemetry]") {
  journal_record record;
  record.sequence = 1;
  record.epoch = 5;
  record.time_us = 6;
  record.node = "n";
  record.event.kind = job_event::type::workers_stopped;
  record.event.seconds = 1.5;
  CHECK(to_json_line(record) ==
        R"({"seq": 1, "epoch": 5, "time_us": 6, "node": "n", "kind": "workers_stopped", )"
        R"("seconds": 1.5})");
}

TEST_CASE("journal: texts and pids of a record are cut to their bounds, between characters",
          "[telemetry]") {
  journal_record record = full_record();
  record.event.reason = std::string(limits::journal_text_bytes - 1, 'a') + "\xc3\xa4 more";
  record.event.role = std::string(100'000, '\x01');
  record.event.pids.assign(limits::journal_pids + 1, 4'194'304);
  const std::string line = to_json_line(record);
  CHECK(line.size() <= limits::journal_line_bytes);
  const journal_record copy = parse_journal_line(line);
  CHECK(copy.event.reason == std::string(limits::journal_text_bytes - 1, 'a'));
  CHECK(copy.event.pids.size() == limits::journal_pids);
}

TEST_CASE("journal: a line that is not a record is refused with a sentence", "[telemetry]") {
  const auto [line, part] = GENERATE(table<std::string, std::string>({
      {"", "is not a JSON object"},
      {"[1]", "is not a JSON object"},
      {R"({"seq": 1, "epo)", "is not a JSON object"},
      {R"({"epoch": 1})", "has no \"seq\""},
      {R"({"seq": 0, "epoch": 1})", "has \"seq\" outside"},
      {R"({"seq": 1, "epoch": 1, "time_us": -5})", "has \"time_us\" outside"},
      {R"({"seq": 1, "epoch": 1, "time_us": 5, "node": 3})", "has no text \"node\""},
      {R"({"seq": 1, "epoch": 1, "time_us": 5, "node": "n", "kind": "x"})",
       "has an unknown \"kind\": 'x'"},
      {R"({"seq": 1, "epoch": 1, "time_us": 5, "node": "n", "kind": "agent_ended", "rank": 1.5})",
       "has no whole number \"rank\""},
      {R"({"seq": 1, "epoch": 1, "time_us": 5, "node": "n", "kind": "agent_ended", "pids": ["a"]})",
       "not whole numbers"},
      {R"({"seq": 1, "epoch": 1, "time_us": 5, "node": "n", "kind": "agent_ended", "pids": 3})",
       "has no list"},
  }));
  CAPTURE(line);
  CHECK_THAT(refusal_of(line), test::contains_text(part));
}

TEST_CASE("journal: fields of a later version are passed over", "[telemetry]") {
  const journal_record record = parse_journal_line(
      R"({"seq": 1, "epoch": 1, "time_us": 5, "node": "n", "kind": "agent_ended", "new": [{}]})");
  CHECK(record.event.kind == job_event::type::agent_ended);
}

}  // namespace journal_record_tests
