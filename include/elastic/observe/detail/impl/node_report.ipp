// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/detail/node_report.hpp>

#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic::detail {

/// Of a reason; in JSON a byte takes up to six.
inline constexpr std::size_t report_reason_bytes = 240;

inline std::string report_reason(std::string_view text) {
  text = text.substr(0, report_reason_bytes);
  return std::string(text.substr(0, text.size() - unfinished_character(text)));
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

/// What the other nodes are to know of it; no more, since each part of a report has its room.
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

/// One of the numbers of a worker, within bounds.
inline std::int64_t report_number(const json_fields& fields, const nlohmann::json& entry,
                                  std::size_t at, std::int64_t least, std::int64_t most) {
  const nlohmann::json& value = entry[at];
  const bool is_large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (!value.is_number_integer() || is_large || value.get<std::int64_t>() < least ||
      value.get<std::int64_t>() > most) {
    fields.refuse(
        fmt::format("has a worker whose entry {} is no number from {} to {}", at, least, most));
  }
  return value.get<std::int64_t>();
}

inline viewed_worker read_worker(const json_fields& fields, const nlohmann::json& entry,
                                 std::int64_t size) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr std::size_t entries = 9;
  if (!entry.is_array() || entry.size() != entries || !entry[8].is_string()) {
    fields.refuse(fmt::format("has a worker that is no list of {} entries", entries));
  }
  const auto number = [&](std::size_t at, std::int64_t from, std::int64_t to) {
    return report_number(fields, entry, at, from, to);
  };
  viewed_worker worker;
  worker.local_rank = number(0, 0, size - 1);
  constexpr auto last = static_cast<std::int64_t>(worker_condition_names.size()) - 1;
  worker.state = static_cast<viewed_worker::condition>(number(1, 0, last));
  worker.pid = number(2, 0, most);
  worker.step = number(3, -1, most);
  worker.total = number(4, 0, most);
  if (!entry[5].is_number() || !(entry[5].get<double>() >= 0) || entry[5].get<double>() > 1e12) {
    fields.refuse("has a worker whose steps take no time");
  }
  worker.step_seconds = entry[5].get<double>();
  if (!entry[6].is_null()) worker.exit_code = number(6, least, most);
  if (!entry[7].is_null()) worker.signal = number(7, least, most);
  worker.reason = report_reason(entry[8].get<std::string>());
  return worker;
}

inline journal_record read_event(const json_fields& fields, const nlohmann::json& event) {
  // Lists in lists in lists would take as much of the stack to be written as a line.
  for (const nlohmann::json& value : event) {
    if (std::any_of(value.begin(), value.end(),
                    [](const auto& part) { return part.is_structured(); })) {
      fields.refuse("has an event that is nested too deep");
    }
  }
  constexpr auto replaced = nlohmann::json::error_handler_t::replace;
  return parse_journal_line(event.dump(-1, ' ', false, replaced));
}

inline agent_activity read_activity(const json_fields& fields) {
  const std::string name = fields.text("state");
  const auto position = std::find(agent_activity_names.begin(), agent_activity_names.end(), name);
  if (position == agent_activity_names.end()) {
    fields.refuse(fmt::format("has an unknown \"state\": {}", json_string(name.substr(0, 40))));
  }
  return static_cast<agent_activity>(position - agent_activity_names.begin());
}

inline const nlohmann::json& read_list(const json_fields& fields, const char* name,
                                       std::size_t most) {
  const nlohmann::json& list = fields.field(name);
  if (!list.is_array() || list.size() > most) {
    fields.refuse(fmt::format("has no list of at most {} \"{}\"", most, name));
  }
  return list;
}

ELASTIC_DECL std::size_t report_bytes(const viewed_worker& worker) {
  return report_text(worker).size() + 1;
}

ELASTIC_DECL std::size_t report_bytes(const journal_record& event) {
  return report_text(event).size() + 1;
}

ELASTIC_DECL std::string report_text(const node_report& report) {
  json_object head;
  head.add("begins", report.begins).add("epoch", report.epoch);
  head.add("state", to_string(report.activity)).add("reason", report_reason(report.reason));
  head.add("round", report.round).add("base_rank", report.base_rank).add("size", report.size);
  std::string text = head.text();
  text.pop_back();
  return fmt::format("{}, \"events\": {}, \"workers\": {}}}", text, report_list(report.events),
                     report_list(report.workers));
}

ELASTIC_DECL node_report parse_node_report(std::string_view text) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max() / 2;
  const json_fields fields("a node's report", text, limits::node_report_bytes);
  node_report report;
  report.begins = fields.flag("begins");
  report.epoch = fields.number("epoch", 0, most);
  report.activity = read_activity(fields);
  report.reason = report_reason(fields.text("reason"));
  report.round = fields.number("round", -1, most);
  report.base_rank = fields.number("base_rank", 0, most);
  report.size = fields.number("size", 0, limits::local_world_size);
  const nlohmann::json& events = read_list(fields, "events", limits::node_events_per_second);
  for (const nlohmann::json& event : events) report.events.push_back(read_event(fields, event));
  const nlohmann::json& workers = read_list(fields, "workers", limits::local_world_size);
  for (const nlohmann::json& worker : workers) {
    report.workers.push_back(read_worker(fields, worker, report.size));
  }
  return report;
}

}  // namespace elastic::detail
