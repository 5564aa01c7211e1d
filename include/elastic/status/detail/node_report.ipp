// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/node_report.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>

#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace elastic::detail {

/// The bytes of a reason; in JSON, each takes up to six.
inline constexpr std::size_t report_reason_bytes = 240;

inline std::string report_reason(std::string_view text) {
  return std::string(beginning_of(text, report_reason_bytes));
}

/// Local rank, condition, pid, step, total, seconds of a step, exit code or null, signal or null,
/// reason.
inline std::string report_text(const viewed_worker& worker) {
  const auto optional = [](const std::optional<std::int64_t>& number) {
    return number ? fmt::format("{}", *number) : std::string("null");
  };
  const double seconds = std::isfinite(worker.step_seconds) ? worker.step_seconds : 0;
  return fmt::format("[{},{},{},{},{},{:.6g},{},{},{}]", worker.local_rank,
                     static_cast<int>(worker.state), worker.pid, worker.step, worker.total, seconds,
                     optional(worker.exit_code), optional(worker.signal),
                     json_string(report_reason(worker.reason)));
}

/// The text of an event for other nodes: only some fields, since each part of a report has a limit.
inline std::string report_text(const journal_record& event) {
  journal_record shown;
  shown.sequence = event.sequence;
  shown.epoch = event.epoch;
  shown.time_us = event.time_us;
  shown.node = report_reason(event.node);
  shown.event.kind = event.event.kind;
  shown.event.reason = report_reason(event.event.reason);
  shown.event.rank = event.event.rank;
  shown.event.exit_code = event.event.exit_code;
  shown.event.signal = event.event.signal;
  return to_json_line(shown);
}

template <class Entry>
std::string report_list(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) text += (text.empty() ? "" : ",") + report_text(entry);
  return "[" + text + "]";
}

/// A number of a worker, within bounds.
inline std::int64_t report_number(const record_rows& rows, const nlohmann::ordered_json& entry,
                                  std::size_t index, std::int64_t least, std::int64_t most) {
  const nlohmann::ordered_json& value = entry[index];
  const bool is_large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (!value.is_number_integer() || is_large || value.get<std::int64_t>() < least ||
      value.get<std::int64_t>() > most) {
    rows.refuse(fmt::format("has a worker whose entry {} is not a number from {} to {}", index,
                            least, most));
  }
  return value.get<std::int64_t>();
}

inline viewed_worker read_worker(const record_rows& rows, const nlohmann::ordered_json& entry,
                                 std::int64_t size) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr std::size_t entries = 9;
  if (!entry.is_array() || entry.size() != entries || !entry[8].is_string()) {
    rows.refuse(fmt::format("has a worker that is not a list of {} entries", entries));
  }
  const auto number = [&](std::size_t index, std::int64_t start, std::int64_t high) {
    return report_number(rows, entry, index, start, high);
  };
  viewed_worker worker;
  worker.local_rank = number(0, 0, size - 1);
  constexpr auto last = static_cast<std::int64_t>(worker_condition_names.size()) - 1;
  worker.state = static_cast<viewed_worker::condition>(number(1, 0, last));
  worker.pid = number(2, 0, most);
  worker.step = number(3, -1, most);
  worker.total = number(4, 0, most);
  if (!entry[5].is_number() || !(entry[5].get<double>() >= 0) || entry[5].get<double>() > 1e12) {
    rows.refuse("has a worker whose step time is not a number of seconds from 0 to 1e12");
  }
  worker.step_seconds = entry[5].get<double>();
  if (!entry[6].is_null()) worker.exit_code = number(6, least, most);
  if (!entry[7].is_null()) worker.signal = number(7, least, most);
  worker.reason = report_reason(entry[8].get<std::string>());
  return worker;
}

/// Local rank, processors, and bytes of memory of each worker; empty if there are none.
inline std::string usage_list(const std::vector<viewed_worker>& workers) {
  std::string text;
  for (const viewed_worker& worker : workers) {
    text += fmt::format("{}[{},{:.4g},{}]", text.empty() ? "[" : ",", worker.local_rank,
                        worker.usage.processors, worker.usage.memory_bytes);
  }
  return text.empty() ? text : text + "]";
}

inline viewed_worker read_usage(const record_rows& rows, const nlohmann::ordered_json& entry,
                                std::int64_t size) {
  constexpr double most_processors = 1e6;
  const bool is_entry = entry.is_array() && entry.size() == 3 && entry[1].is_number();
  if (!is_entry || !(std::abs(entry[1].get<double>()) <= most_processors)) {
    rows.refuse("has a use of a node that is not a list of a rank, processors and bytes");
  }
  viewed_worker worker;
  worker.local_rank = report_number(rows, entry, 0, 0, size - 1);
  worker.usage.processors = entry[1].get<double>();
  worker.usage.memory_bytes =
      report_number(rows, entry, 2, 0, std::numeric_limits<std::int64_t>::max());
  return worker;
}

inline void describe(node_report& report, record_rows& rows) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 2;
  rows.flag("begins", report.begins);
  rows.number("epoch", report.epoch, 0, most);
  rows.choice("state", report.activity, agent_activity_names);
  rows.sentence("reason", report.reason, report_reason_bytes);
  rows.number("round", report.round, -1, most);
  rows.number("base_rank", report.base_rank, 0, most);
  rows.number("size", report.size, 0, limits::local_world_size);
  const auto* events =
      rows.list("events", report_list(report.events), limits::node_events_per_second);
  const auto* workers = rows.list("workers", report_list(report.workers), limits::local_world_size);
  const auto* used = rows.list("usage", usage_list(report.used), limits::local_world_size,
                               presence::sparse);
  if (!rows.reads()) return;
  for (const nlohmann::ordered_json& event : *events) {
    report.events.push_back(read_journal_record(json_fields("a line of the journal", event)));
  }
  for (const nlohmann::ordered_json& worker : *workers) {
    report.workers.push_back(read_worker(rows, worker, report.size));
  }
  if (!used) return;
  for (const nlohmann::ordered_json& worker : *used) {
    report.used.push_back(read_usage(rows, worker, report.size));
  }
}

ELASTIC_DECL std::size_t report_bytes(const viewed_worker& worker) {
  return report_text(worker).size() + 1;
}

ELASTIC_DECL std::size_t report_bytes(const journal_record& event) {
  return report_text(event).size() + 1;
}

ELASTIC_DECL std::string report_text(const node_report& report) {
  json_object object;
  write_record(object, report);
  return object.text();
}

ELASTIC_DECL node_report parse_node_report(std::string_view text) {
  node_report report;
  read_record(json_fields("a node's report", text, limits::node_report_bytes), report);
  return report;
}

}  // namespace elastic::detail
