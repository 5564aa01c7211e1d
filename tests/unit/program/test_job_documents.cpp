// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What viewers of a job receive, byte for byte, from the fixed journals in
// tests/vectors/job_documents. Users' programs parse these documents, so a difference here changes
// a contract.

#include <elastic/base/version.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <elastic/status/detail/status_answer.hpp>
#include <elastic/status/detail/trace_events.hpp>
#include <program/commands/explanation.hpp>
#include <program/commands/merged_trace.hpp>
#include <support/catch.hpp>
#include <support/golden_file.hpp>
#include <support/recorded_job.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace job_documents_tests {

using elastic::job_event;
using elastic::journal_record;
using elastic::detail::job_view;
using elastic::detail::journal_contents;
using elastic::test::check_golden;
using elastic::test::file_text;
using elastic::test::follow_recorded_job;
using elastic::test::lines_of;
using elastic::test::recorded_contents;
using elastic::test::recorded_folder;
using elastic::test::recorded_journal;

/// Compares a text with a file of the vectors.
void check_vector(const std::string& name, std::string text) {
  const std::string version = fmt::format("\"{}\"", elastic::version_text);
  for (std::size_t at = 0; (at = text.find(version, at)) != std::string::npos; ++at) {
    text.replace(at, version.size(), "\"VERSION\"");
  }
  check_golden("vectors/job_documents/" + name, text);
}

/// The versions of a document, each as its number of lines and those that differ from the version
/// before.
class versions {
 public:
  void add(const std::string& moment, const std::string& document) {
    const std::vector<std::string> lines = lines_of(document);
    text_ += fmt::format("==== {}: {} lines\n", moment, lines.size());
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (at < former_.size() && lines[at] == former_[at]) continue;
      text_ += fmt::format("{}: {}\n", at + 1, lines[at]);
    }
    former_ = lines;
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::string> former_;
};

std::string moment_of(const journal_record& record) {
  return fmt::format("epoch {}, record {} ({})", record.epoch, record.sequence,
                     to_string(record.event.kind));
}

TEST_CASE("job documents: a journal's lines", "[program]") {
  for (const std::string name : {"node0.journal", "node1.journal", "stalled.journal",
                                 "replaced.journal", "vault.journal"}) {
    std::string text;
    for (const std::string& line : lines_of(file_text(recorded_folder + name))) {
      text += to_json_line(elastic::parse_journal_line(line)) + "\n";
    }
    check_vector(name, text);
  }
}

TEST_CASE("job documents: the fixed journals have every kind of event", "[program]") {
  std::vector<journal_record> records = recorded_journal("node0");
  for (const std::string other : {"stalled", "replaced", "vault"}) {
    for (const journal_record& record : recorded_journal(other)) records.push_back(record);
  }
  for (const auto& [kind, name] : elastic::job_event_kinds) {
    INFO(name);
    const auto is_there = [wanted = kind](const journal_record& record) {
      return record.event.kind == wanted;
    };
    CHECK(std::any_of(records.begin(), records.end(), is_there));
  }
}

/// Those of a short journal, after each of its records.
std::string documents_of(const std::string& journal) {
  versions json;
  versions text;
  versions metrics;
  job_view view;
  for (const journal_record& record : recorded_journal(journal)) {
    view.take(record);
    const std::int64_t now_us = record.time_us + 1'500'000;
    json.add(moment_of(record), elastic::detail::job_json(view, now_us));
    text.add(moment_of(record), elastic::detail::job_text(view, now_us));
    metrics.add(moment_of(record),
                elastic::detail::metrics_text(view, elastic::detail::metrics_format::text, now_us));
  }
  return json.text() + text.text() + metrics.text();
}

TEST_CASE("job documents: a job that stands still, as JSON, as text and as metrics", "[program]") {
  check_vector("stalled.txt", documents_of("stalled"));
}

TEST_CASE("job documents: a job that restarts from memory, and what explains it", "[program]") {
  check_vector("vault.txt", documents_of("vault"));
  check_vector("vault_explanation.txt", elasticrun::explain({recorded_contents("vault")}));
}

TEST_CASE("job documents: a job whose ranks are replaced, in every form", "[program]") {
  versions json;
  versions text;
  versions metrics;
  job_view view;
  const std::vector<journal_record> records = recorded_journal("replaced");
  for (const journal_record& record : records) {
    view.take(record);
    const std::int64_t now_us = record.time_us + 500'000;
    json.add(moment_of(record), elastic::detail::job_json(view, now_us));
    text.add(moment_of(record), elastic::detail::job_text(view, now_us));
    metrics.add(moment_of(record),
                elastic::detail::metrics_text(view, elastic::detail::metrics_format::text, now_us));
  }
  check_vector("replaced.txt", json.text() + text.text() + metrics.text());
  elastic::detail::event_cursor cursor;
  check_vector("replaced_events.txt",
               elastic::detail::events_text(records, records.front().epoch, cursor));
  elastic::detail::trace_events events(1);
  std::string trace;
  for (const journal_record& record : records) {
    for (const std::string& event : events.take(record)) trace += event + ",\n";
  }
  check_vector("replaced_trace.json", trace);
  const std::vector<journal_contents> one{recorded_contents("replaced")};
  check_vector("replaced_explanation.txt", elasticrun::explain(one));
}

TEST_CASE("job documents: /api/v1/job as JSON and as text, and the probe of readiness",
          "[program]") {
  versions json;
  versions text;
  versions checks;
  follow_recorded_job([&](const journal_record& record, const job_view& view, std::int64_t now_us) {
    json.add(moment_of(record), elastic::detail::job_json(view, now_us));
    text.add(moment_of(record), elastic::detail::job_text(view, now_us));
    checks.add(moment_of(record),
               elastic::detail::ready_checks(view, now_us) +
                   elastic::detail::progress_json(view, now_us - 3'000'000, now_us));
  });
  check_vector("job_json.txt", json.text());
  check_vector("job_text.txt", text.text());
  check_vector("ready_checks.txt", checks.text());
}

TEST_CASE("job documents: /metrics in both formats", "[program]") {
  versions text;
  versions open;
  follow_recorded_job([&](const journal_record& record, const job_view& view, std::int64_t now_us) {
    using elastic::detail::metrics_format;
    const bool is_end = record.event.kind == job_event::type::agent_ended;
    const bool is_shown = is_end || record.event.kind == job_event::type::workers_started ||
                          record.event.kind == job_event::type::worker_suspected ||
                          record.event.kind == job_event::type::round_ended;
    if (!is_shown) return;
    text.add(moment_of(record), elastic::detail::metrics_text(view, metrics_format::text, now_us));
    if (!is_end) return;
    open.add(moment_of(record),
             elastic::detail::metrics_text(view, metrics_format::openmetrics, now_us));
  });
  check_vector("metrics.txt", text.text());
  check_vector("open_metrics.txt", open.text());
}

TEST_CASE("job documents: /api/v1/events", "[program]") {
  std::vector<journal_record> records = recorded_journal("node0");
  const std::int64_t epoch = records.front().epoch;
  std::erase_if(records, [&](const journal_record& record) { return record.epoch != epoch; });
  elastic::detail::event_cursor cursor;
  check_vector("events.txt", elastic::detail::events_text(records, epoch, cursor));
}

TEST_CASE("job documents: traces", "[program]") {
  elastic::detail::trace_events events(1);
  std::string trace;
  for (const journal_record& record : recorded_journal("node0")) {
    for (const std::string& event : events.take(record)) trace += event + ",\n";
  }
  check_vector("trace.json", trace);
  const std::vector<journal_contents> journals{recorded_contents("node0"),
                                               recorded_contents("node1")};
  check_vector("merged_trace.json", elasticrun::merged_trace(journals));
}

TEST_CASE("job documents: explain", "[program]") {
  const std::vector<journal_contents> one{recorded_contents("node0")};
  check_vector("explanation.txt", elasticrun::explain(one));
  const std::vector<journal_contents> both{recorded_contents("node0"), recorded_contents("node1")};
  check_vector("explanation_of_two_nodes.txt", elasticrun::explain(both));
}

}  // namespace job_documents_tests
