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
#include <elastic/status/detail/node_report.hpp>
#include <elastic/status/detail/status_answer.hpp>
#include <elastic/status/detail/trace_events.hpp>
#include <program/commands/explanation.hpp>
#include <program/commands/merged_trace.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace job_documents_tests {

using elastic::job_event;
using elastic::journal_record;
using elastic::detail::job_view;
using elastic::detail::journal_contents;

const std::string folder = ELASTIC_SOURCE_DIR "/tests/vectors/job_documents/";

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Compares a text with a file of the vectors. If they differ, the text is kept in the build
/// directory, so that it can replace the file.
void check_golden(const std::string& name, std::string text) {
  const std::string version = fmt::format("\"{}\"", elastic::version_text);
  for (std::size_t at = 0; (at = text.find(version, at)) != std::string::npos; ++at) {
    text.replace(at, version.size(), "\"VERSION\"");
  }
  const std::string expected = read_file(folder + name);
  if (text == expected) {
    SUCCEED();
    return;
  }
  const std::filesystem::path kept = std::filesystem::path(ELASTIC_BINARY_DIR) / "job_documents";
  std::filesystem::create_directories(kept);
  std::ofstream(kept / name, std::ios::binary) << text;
  const std::vector<std::string> lines = lines_of(text);
  const std::vector<std::string> expected_lines = lines_of(expected);
  std::size_t at = 0;
  while (at < lines.size() && at < expected_lines.size() && lines[at] == expected_lines[at]) ++at;
  const auto line = [at](const std::vector<std::string>& all) {
    return at < all.size() ? all[at] : std::string("(no such line)");
  };
  FAIL(name << ", line " << at + 1 << "\nexpected: " << line(expected_lines)
            << "\nis now:   " << line(lines) << "\nall of it: " << (kept / name).string());
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

journal_contents journal_of(const std::string& node) {
  return elastic::detail::parse_journal(read_file(folder + node + ".journal"));
}

std::vector<journal_record> records_of(const std::string& node) { return journal_of(node).records; }

/// Workers report a step every two seconds in the 20 s after their start; the last is slower.
void report_steps(job_view& view, const journal_record& started) {
  for (std::int64_t step = 1; step <= 10; ++step) {
    for (int local_rank = 0; local_rank < 4; ++local_rank) {
      elastic::worker_observer::worker_progress progress;
      progress.rank = local_rank;
      progress.local_rank = local_rank;
      const bool is_slow = local_rank == 3;
      progress.step = 100 + 20 * started.event.attempt.value_or(0) + (is_slow ? step / 2 : step);
      progress.total = 400;
      progress.text = is_slow ? "loss <2.5> \"é\"" : "";
      view.take(progress, started.time_us + step * 2'000'000);
    }
  }
}

/// What the server of the rendezvous tells of the job's nodes, and what one of these reports.
void show_whole_job(job_view& view, std::int64_t now_us) {
  elastic::detail::job_roster roster;
  roster.round = 4;
  roster.is_complete = true;
  roster.min_nodes = 2;
  roster.max_nodes = 4;
  roster.active = 2;
  roster.waiting = 1;
  roster.lost = 1;
  using elastic::detail::node_presence;
  roster.nodes = {{1, "node0", "node0_1_0", node_presence::active, 0},
                  {2, "node1", "node1_77_0", node_presence::active, 1},
                  {3, "node2", "node2_5_0", node_presence::waiting, -1},
                  {4, "node<3>", "node<3>_6_0", node_presence::lost, -1}};
  view.whole().take(roster, now_us - 12'000'000);
  elastic::detail::node_report report;
  report.begins = true;
  report.epoch = 5;
  report.activity = elastic::detail::agent_activity::running;
  report.round = 4;
  report.base_rank = 4;
  report.size = 2;
  report.workers.resize(2);
  for (std::int64_t at = 0; at < 2; ++at) {
    elastic::detail::viewed_worker& worker = report.workers[static_cast<std::size_t>(at)];
    worker.local_rank = at;
    worker.pid = 900 + at;
    worker.state = at == 0 ? elastic::detail::viewed_worker::condition::running
                           : elastic::detail::viewed_worker::condition::failed;
    worker.step = 160;
    worker.total = 400;
    worker.step_seconds = 2.5;
  }
  report.workers[1].signal = 11;
  report.workers[1].reason = "signal 11 (SIGSEGV)";
  view.whole().take(2, report, view.epoch(), now_us - 2'000'000);
}

/// Calls `show` after each record of a journal, as an agent that serves the status would.
void follow(const std::function<void(const journal_record&, const job_view&, std::int64_t)>& show) {
  job_view view;
  for (const journal_record& record : records_of("node0")) {
    view.take(record);
    const job_event::type kind = record.event.kind;
    if (kind == job_event::type::workers_started) report_steps(view, record);
    if (kind == job_event::type::workers_started && record.event.round == 4) {
      show_whole_job(view, record.time_us + 21'000'000);
    }
    if (kind == job_event::type::fence_reached) view.whole().forget();
    const bool has_steps = kind == job_event::type::workers_started;
    show(record, view, record.time_us + (has_steps ? 21'500'000 : 1'500'000));
  }
}

std::string moment_of(const journal_record& record) {
  return fmt::format("epoch {}, record {} ({})", record.epoch, record.sequence,
                     to_string(record.event.kind));
}

TEST_CASE("job documents: a journal's lines", "[program]") {
  for (const std::string name : {"node0.journal", "node1.journal", "stalled.journal",
                                 "replaced.journal"}) {
    std::string text;
    for (const std::string& line : lines_of(read_file(folder + name))) {
      text += to_json_line(elastic::parse_journal_line(line)) + "\n";
    }
    check_golden(name, text);
  }
}

TEST_CASE("job documents: the fixed journals have every kind of event", "[program]") {
  std::vector<journal_record> records = records_of("node0");
  for (const std::string other : {"stalled", "replaced"}) {
    for (const journal_record& record : records_of(other)) records.push_back(record);
  }
  for (const auto& [kind, name] : elastic::job_event_kinds) {
    INFO(name);
    const auto is_there = [kind = kind](const journal_record& record) {
      return record.event.kind == kind;
    };
    CHECK(std::any_of(records.begin(), records.end(), is_there));
  }
}

TEST_CASE("job documents: a job that stands still, as JSON, as text and as metrics", "[program]") {
  versions json;
  versions text;
  versions metrics;
  job_view view;
  for (const journal_record& record : records_of("stalled")) {
    view.take(record);
    const std::int64_t now_us = record.time_us + 1'500'000;
    json.add(moment_of(record), elastic::detail::job_json(view, now_us));
    text.add(moment_of(record), elastic::detail::job_text(view, now_us));
    metrics.add(moment_of(record),
                elastic::detail::metrics_text(view, elastic::detail::metrics_format::text, now_us));
  }
  check_golden("stalled.txt", json.text() + text.text() + metrics.text());
}

TEST_CASE("job documents: a job whose ranks are replaced, in every form", "[program]") {
  versions json;
  versions text;
  versions metrics;
  job_view view;
  const std::vector<journal_record> records = records_of("replaced");
  for (const journal_record& record : records) {
    view.take(record);
    const std::int64_t now_us = record.time_us + 500'000;
    json.add(moment_of(record), elastic::detail::job_json(view, now_us));
    text.add(moment_of(record), elastic::detail::job_text(view, now_us));
    metrics.add(moment_of(record),
                elastic::detail::metrics_text(view, elastic::detail::metrics_format::text, now_us));
  }
  check_golden("replaced.txt", json.text() + text.text() + metrics.text());
  elastic::detail::event_cursor cursor;
  check_golden("replaced_events.txt",
               elastic::detail::events_text(records, records.front().epoch, cursor));
  elastic::detail::trace_events events(1);
  std::string trace;
  for (const journal_record& record : records) {
    for (const std::string& event : events.take(record)) trace += event + ",\n";
  }
  check_golden("replaced_trace.json", trace);
  const std::vector<journal_contents> one{journal_of("replaced")};
  check_golden("replaced_explanation.txt", elasticrun::explain(one));
}

TEST_CASE("job documents: /api/v1/job as JSON and as text, and the probe of readiness",
          "[program]") {
  versions json;
  versions text;
  versions checks;
  follow([&](const journal_record& record, const job_view& view, std::int64_t now_us) {
    json.add(moment_of(record), elastic::detail::job_json(view, now_us));
    text.add(moment_of(record), elastic::detail::job_text(view, now_us));
    checks.add(moment_of(record),
               elastic::detail::ready_checks(view, now_us) +
                   elastic::detail::progress_json(view, now_us - 3'000'000, now_us));
  });
  check_golden("job_json.txt", json.text());
  check_golden("job_text.txt", text.text());
  check_golden("ready_checks.txt", checks.text());
}

TEST_CASE("job documents: /metrics in both formats", "[program]") {
  versions text;
  versions open;
  follow([&](const journal_record& record, const job_view& view, std::int64_t now_us) {
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
  check_golden("metrics.txt", text.text());
  check_golden("open_metrics.txt", open.text());
}

TEST_CASE("job documents: /api/v1/events", "[program]") {
  std::vector<journal_record> records = records_of("node0");
  const std::int64_t epoch = records.front().epoch;
  std::erase_if(records, [&](const journal_record& record) { return record.epoch != epoch; });
  elastic::detail::event_cursor cursor;
  check_golden("events.txt", elastic::detail::events_text(records, epoch, cursor));
}

TEST_CASE("job documents: traces", "[program]") {
  elastic::detail::trace_events events(1);
  std::string trace;
  for (const journal_record& record : records_of("node0")) {
    for (const std::string& event : events.take(record)) trace += event + ",\n";
  }
  check_golden("trace.json", trace);
  const std::vector<journal_contents> journals{journal_of("node0"), journal_of("node1")};
  check_golden("merged_trace.json", elasticrun::merged_trace(journals));
}

TEST_CASE("job documents: explain", "[program]") {
  const std::vector<journal_contents> one{journal_of("node0")};
  check_golden("explanation.txt", elasticrun::explain(one));
  const std::vector<journal_contents> both{journal_of("node0"), journal_of("node1")};
  check_golden("explanation_of_two_nodes.txt", elasticrun::explain(both));
}

}  // namespace job_documents_tests
