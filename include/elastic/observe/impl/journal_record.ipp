// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/journal_record.hpp>

#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/limits.hpp>

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {

namespace detail {

template <class T>
struct event_field {
  const char* name;
  T job_event::* member;
};

inline constexpr event_field<std::string> event_texts[] = {
    {"reason", &job_event::reason},   {"state", &job_event::state}, {"run_id", &job_event::run_id},
    {"backend", &job_event::backend}, {"role", &job_event::role},   {"peer", &job_event::peer},
    {"lines", &job_event::lines},
};

inline constexpr event_field<std::optional<std::int64_t>> event_numbers[] = {
    {"round", &job_event::round},
    {"attempt", &job_event::attempt},
    {"rank", &job_event::rank},
    {"local_rank", &job_event::local_rank},
    {"pid", &job_event::pid},
    {"exit_code", &job_event::exit_code},
    {"signal", &job_event::signal},
    {"group_rank", &job_event::group_rank},
    {"group_world_size", &job_event::group_world_size},
    {"world_size", &job_event::world_size},
    {"base_rank", &job_event::base_rank},
    {"local_world_size", &job_event::local_world_size},
    {"restarts", &job_event::restarts},
    {"max_restarts", &job_event::max_restarts},
    {"step", &job_event::step},
    {"elsewhere", &job_event::elsewhere},
    {"count", &job_event::count},
};

inline constexpr event_field<std::optional<double>> event_reals[] = {
    {"seconds", &job_event::seconds},
    {"allowed", &job_event::allowed},
};

/// As much of a text as a record has room for, cut between characters.
inline std::string_view journal_text(std::string_view text) {
  text = text.substr(0, limits::journal_text_bytes);
  return text.substr(0, text.size() - unfinished_character(text));
}

inline std::string journal_text_of(const json_fields& fields, const char* name) {
  std::string text = fields.text(name);
  if (text.size() <= limits::journal_text_bytes) return text;
  fields.refuse(fmt::format("has a \"{}\" of {} bytes; up to {} are taken", name, text.size(),
                            limits::journal_text_bytes));
}

inline std::vector<std::int64_t> journal_pids_of(const json_fields& fields) {
  const nlohmann::json& list = fields.field("pids");
  if (!list.is_array() || list.size() > limits::journal_pids) {
    fields.refuse(fmt::format("has no list of at most {} \"pids\"", limits::journal_pids));
  }
  std::vector<std::int64_t> pids;
  for (const nlohmann::json& pid : list) {
    if (!pid.is_number_integer()) fields.refuse("has \"pids\" that are no whole numbers");
    pids.push_back(pid.get<std::int64_t>());
  }
  return pids;
}

}  // namespace detail

ELASTIC_DECL std::string to_json_line(const journal_record& record) {
  detail::json_object line;
  line.add("seq", record.sequence).add("epoch", record.epoch).add("time_us", record.time_us);
  line.add("node", detail::journal_text(record.node));
  line.add("kind", to_string(record.event.kind));
  for (const auto& [name, member] : detail::event_numbers) {
    if (const auto& number = record.event.*member) line.add(name, *number);
  }
  for (const auto& [name, member] : detail::event_reals) {
    const auto& number = record.event.*member;
    // Microseconds are the finest that a journal tells.
    if (number && std::isfinite(*number)) line.add(name, std::round(*number * 1e6) / 1e6);
  }
  for (const auto& [name, member] : detail::event_texts) {
    const std::string& text = record.event.*member;
    if (!text.empty()) line.add(name, detail::journal_text(text));
  }
  std::string text = line.text();
  if (record.event.pids.empty()) return text;
  text.back() = ',';
  text += " \"pids\": [";
  for (std::size_t at = 0; at < record.event.pids.size() && at < limits::journal_pids; ++at) {
    text += fmt::format("{}{}", at == 0 ? "" : ", ", record.event.pids[at]);
  }
  return text + "]}";
}

ELASTIC_DECL journal_record parse_journal_line(std::string_view line) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  const detail::json_fields fields("a line of the journal", line, limits::journal_line_bytes);
  journal_record record;
  record.sequence = fields.number("seq", 1, most);
  record.epoch = fields.number("epoch", 0, most);
  record.time_us = fields.number("time_us", 0, most);
  record.node = detail::journal_text_of(fields, "node");
  const std::string kind = fields.text("kind");
  const auto event_kind = job_event_kind_of(kind);
  if (!event_kind)
    fields.refuse(fmt::format("has the unknown kind {}", detail::json_string(kind.substr(0, 64))));
  record.event.kind = *event_kind;
  for (const auto& [name, member] : detail::event_numbers) {
    if (fields.has(name)) record.event.*member = fields.number(name, least, most);
  }
  for (const auto& [name, member] : detail::event_reals) {
    if (fields.has(name)) record.event.*member = fields.real(name);
  }
  for (const auto& [name, member] : detail::event_texts) {
    if (fields.has(name)) record.event.*member = detail::journal_text_of(fields, name);
  }
  if (fields.has("pids")) record.event.pids = detail::journal_pids_of(fields);
  return record;
}

}  // namespace elastic
