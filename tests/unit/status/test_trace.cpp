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
