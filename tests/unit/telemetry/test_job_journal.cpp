// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/telemetry/job_journal.hpp>

#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace job_journal_tests {

using namespace elastic;

struct keeping_sink : journal_sink {
  void take(const journal_record& record) override { records.push_back(record); }
  std::vector<journal_record> records;
};

struct failing_sink : journal_sink {
  void take(const journal_record&) override { throw std::runtime_error("no room"); }
};

job_event event_of(int rank) {
  job_event event;
  event.kind = job_event::type::worker_ended;
  event.rank = rank;
  return event;
}

TEST_CASE("journal: a journal numbers its records and says when and where", "[telemetry]") {
  job_journal::options options;
  options.node = "host7";
  job_journal journal(options);
  journal.record(event_of(0));
  journal.record(event_of(1));
  const auto records = journal.after(0);
  REQUIRE(records.size() == 2);
  CHECK(records[0].sequence == 1);
  CHECK(records[1].sequence == 2);
  CHECK(records[1].node == "host7");
  CHECK(records[1].epoch == journal.epoch());
  CHECK(records[0].time_us >= journal.epoch());
  CHECK(records[1].event.rank == 1);
  REQUIRE(journal.after(1).size() == 1);
  CHECK(journal.after(1)[0].sequence == 2);
  CHECK(journal.after(2).empty());
}

TEST_CASE("journal: a journal keeps its last records; the number of the first shows the gap",
          "[telemetry]") {
  job_journal::options options;
  options.most_records = 2;
  job_journal journal(options);
  for (int rank = 0; rank < 5; ++rank) journal.record(event_of(rank));
  const auto records = journal.after(1);
  REQUIRE(records.size() == 2);
  CHECK(records[0].sequence == 4);
}

TEST_CASE(
    "journal: a sink of a journal is told what is kept, what comes, and nothing after its removal",
    "[telemetry]") {
  job_journal journal({});
  const auto sink = std::make_shared<keeping_sink>();
  journal.record(event_of(0));
  journal.add(sink);
  journal.record(event_of(1));
  journal.remove(sink);
  journal.record(event_of(2));
  REQUIRE(sink->records.size() == 2);
  CHECK(sink->records[0].event.rank == 0);
  CHECK(sink->records[1].event.rank == 1);
}

TEST_CASE("journal: what a sink of a journal throws is logged, and the others are told",
          "[telemetry]") {
  const auto lines = std::make_shared<test::log_recorder>();
  job_journal::options options;
  options.log = lines->log();
  job_journal journal(options);
  const auto sink = std::make_shared<keeping_sink>();
  journal.add(std::make_shared<failing_sink>());
  journal.add(sink);
  journal.record(event_of(0));
  CHECK(sink->records.size() == 1);
  CHECK(lines->has("a sink of the journal failed: no room"));
}

}  // namespace job_journal_tests
