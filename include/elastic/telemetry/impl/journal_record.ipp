// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/journal_record.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Truncates a text to the limit of a record on writing; refuses a longer one on reading.
inline void journal_text(record_rows& rows, const char* name, std::string& value,
                         presence need = presence::sparse) {
  std::string shown(beginning_of(value, limits::journal_text_bytes));
  if (rows.text(name, shown, limits::journal_text_bytes, need)) value = std::move(shown);
}

/// A journal has a resolution of one microsecond.
inline void journal_seconds(record_rows& rows, const char* name, std::optional<double>& value) {
  std::optional<double> rounded;
  if (value && std::isfinite(*value)) rounded = std::round(*value * 1e6) / 1e6;
  if (rows.real(name, rounded)) value = rounded;
}

inline void journal_kind(record_rows& rows, job_event::type& kind) {
  static constexpr auto names = [] {
    std::array<std::string_view, job_event_kinds.size()> sorted;
    for (const auto& [value, name] : job_event_kinds) {
      sorted[static_cast<std::size_t>(value)] = name;
    }
    return sorted;
  }();
  rows.choice("kind", kind, names);
}

/// One number for each worker, as many as fit on a line.
inline void journal_numbers(record_rows& rows, const char* name,
                            std::vector<std::int64_t>& numbers) {
  std::string written;
  for (std::size_t i = 0; i < numbers.size() && i < limits::journal_pids; ++i) {
    written += (i == 0 ? "[" : ", ") + std::to_string(numbers[i]);
  }
  if (!numbers.empty()) written += ']';
  const auto* list = rows.list(name, written, limits::journal_pids, presence::sparse);
  if (list == nullptr) return;
  for (const nlohmann::ordered_json& number : *list) {
    if (!number.is_number_integer()) {
      rows.refuse(fmt::format("has \"{}\" that are not whole numbers", name));
    }
    numbers.push_back(number.get<std::int64_t>());
  }
}

inline void describe(job_event& event, record_rows& rows) {
  journal_kind(rows, event.kind);
  rows.number("round", event.round);
  rows.number("attempt", event.attempt);
  rows.number("rank", event.rank);
  rows.number("local_rank", event.local_rank);
  rows.number("pid", event.pid);
  rows.number("exit_code", event.exit_code);
  rows.number("signal", event.signal);
  rows.number("group_rank", event.group_rank);
  rows.number("group_world_size", event.group_world_size);
  rows.number("world_size", event.world_size);
  rows.number("base_rank", event.base_rank);
  rows.number("local_world_size", event.local_world_size);
  rows.number("restarts", event.restarts);
  rows.number("max_restarts", event.max_restarts);
  rows.number("step", event.step);
  rows.number("generation", event.generation);
  rows.number("elsewhere", event.elsewhere);
  rows.number("count", event.count);
  rows.number("making", event.making);
  rows.number("bytes", event.bytes);
  journal_seconds(rows, "seconds", event.seconds);
  journal_seconds(rows, "allowed", event.allowed);
  journal_text(rows, "reason", event.reason);
  journal_text(rows, "state", event.state);
  journal_text(rows, "run_id", event.run_id);
  journal_text(rows, "backend", event.backend);
  journal_text(rows, "role", event.role);
  journal_text(rows, "host", event.host);
  journal_text(rows, "peer", event.peer);
  journal_text(rows, "lines", event.lines);
  journal_numbers(rows, "pids", event.pids);
  journal_numbers(rows, "ranks", event.ranks);
}

inline void describe(journal_record& record, record_rows& rows) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  rows.number("seq", record.sequence, 1, most);
  rows.number("epoch", record.epoch, 0, most);
  rows.number("time_us", record.time_us, 0, most);
  journal_text(rows, "node", record.node, presence::required);
  describe(record.event, rows);
}

ELASTIC_DECL journal_record read_journal_record(const json_fields& fields) {
  journal_record record;
  read_record(fields, record);
  return record;
}

}  // namespace detail

ELASTIC_DECL std::string to_json_line(const journal_record& record) {
  detail::json_object line;
  detail::write_record(line, record);
  return std::move(line).text();
}

ELASTIC_DECL journal_record parse_journal_line(std::string_view line) {
  return detail::read_journal_record(
      detail::json_fields("a line of the journal", line, limits::journal_line_bytes));
}

}  // namespace elastic
