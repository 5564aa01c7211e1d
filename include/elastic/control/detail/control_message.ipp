// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/control/detail/control_message.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/control/detail/printable.hpp>

#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace elastic::detail {

/// The longest time in a message: about three years.
inline constexpr duration most_control_time = std::chrono::seconds(100'000'000);

/// A text for people.
inline void shown_row(record_rows& rows, const char* name, std::string& value) {
  std::string shown = printable(value, limits::control_text_bytes);
  if (!rows.text(name, shown, limits::control_line_bytes, presence::lenient)) return;
  value = printable(shown, limits::control_text_bytes);
}

/// A name: not empty, and refused if it is too long, since two names could be equal after a cut.
inline void name_row(record_rows& rows, const char* name, std::string& value) {
  std::string shown = printable(value, limits::control_name_bytes);
  if (!rows.text(name, shown, limits::control_line_bytes)) return;
  value = printable(shown, limits::control_line_bytes);
  if (!value.empty() && value.size() <= limits::control_name_bytes) return;
  rows.refuse(fmt::format("has \"{}\" of {} bytes; 1 to {} are allowed", name, value.size(),
                          limits::control_name_bytes));
}

inline void version_row(record_rows& rows, int& version) {
  rows.number("version", version, 1, 1'000'000);
}

inline void count_row(record_rows& rows, const char* name, std::int64_t& count,
                      presence need = presence::required) {
  rows.number(name, count, 0, std::numeric_limits<std::int64_t>::max(), need);
}

/// Writes only finite values: JSON has no other numbers.
inline std::string metric_values_text(const std::map<std::string, double>& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) {
    if (!std::isfinite(value)) continue;
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ",
                        json_string(printable(name, limits::control_name_bytes)), value);
  }
  return "{" + text + "}";
}

inline void metrics_row(record_rows& rows, std::map<std::string, double>& metrics) {
  const auto* object = rows.json("metrics", metric_values_text(metrics), presence::lenient);
  if (object == nullptr) return;
  if (!object->is_object() || object->size() > limits::control_metrics) {
    rows.refuse(fmt::format("has \"metrics\" other than an object of at most {} numbers",
                            limits::control_metrics));
  }
  for (const auto& [name, value] : object->items()) {
    if (!value.is_number() || name.size() > limits::control_name_bytes) {
      constexpr std::size_t shown_bytes = 40;
      rows.refuse(fmt::format("has a metric '{}' that is not a number, or whose name is {} bytes "
                              "long; up to {} are taken",
                              printable(name, shown_bytes), name.size(),
                              limits::control_name_bytes));
    }
    metrics[printable(name, limits::control_name_bytes)] = value.get<double>();
  }
}

using variable_map = decltype(control_messages::rejoin::environment);

/// Writes whole values: a cut value would be wrong.
inline std::string variables_text(const variable_map& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", json_string(name),
                        json_string(value));
  }
  return "{" + text + "}";
}

inline void variables_row(record_rows& rows, variable_map& variables) {
  const auto* object = rows.json("environment", variables_text(variables));
  if (object == nullptr) return;
  if (!object->is_object() || object->size() > limits::control_variables) {
    rows.refuse(fmt::format("has \"environment\" other than an object of at most {} texts",
                            limits::control_variables));
  }
  for (const auto& [name, value] : object->items()) {
    const bool is_name = !name.empty() && name.size() <= limits::control_name_bytes &&
                         name.find_first_of(std::string_view("=\0", 2)) == std::string::npos;
    const std::string* const text = value.get_ptr<const std::string*>();
    const bool is_value = text != nullptr && text->size() <= limits::control_value_bytes &&
                          text->find('\0') == std::string::npos;
    if (!is_name || !is_value) {
      constexpr std::size_t shown_bytes = 40;
      rows.refuse(fmt::format("has a variable '{}' that no environment can have, or whose name or "
                              "value has more than {} or {} bytes",
                              printable(name, shown_bytes), limits::control_name_bytes,
                              limits::control_value_bytes));
    }
    variables[name] = *text;
  }
}

inline void epoch_row(record_rows& rows, std::int64_t& epoch) { count_row(rows, "epoch", epoch); }

// ---- from a worker --------------------------------------------------------------------------

inline void describe(worker_messages::hello& message, record_rows& rows) {
  version_row(rows, message.version);
  rows.number("local_rank", message.local_rank, 0, limits::local_world_size - 1);
  rows.flag("checkpoints", message.checkpoints, presence::lenient);
}

inline void describe(worker_messages::heartbeat& message, record_rows& rows) {
  rows.seconds("timeout", message.timeout, most_control_time);
}

inline void describe(worker_messages::enter& message, record_rows& rows) {
  name_row(rows, "section", message.section);
  rows.seconds("timeout", message.timeout, most_control_time);
}

inline void describe(worker_messages::leave& message, record_rows& rows) {
  name_row(rows, "section", message.section);
}

inline void describe(worker_messages::expires& message, record_rows& rows) {
  name_row(rows, "timer", message.timer);
  rows.seconds("after", message.after, most_control_time);
}

inline void describe(worker_messages::release& message, record_rows& rows) {
  name_row(rows, "timer", message.timer);
}

inline void describe(worker_messages::progress& message, record_rows& rows) {
  count_row(rows, "step", message.step);
  count_row(rows, "total", message.total, presence::lenient);
  shown_row(rows, "text", message.text);
  metrics_row(rows, message.metrics);
  rows.flag("automatic", message.automatic, presence::sparse);
}

inline void describe(worker_messages::saved& message, record_rows& rows) {
  count_row(rows, "id", message.id);
}

inline void describe(worker_messages::not_saved& message, record_rows& rows) {
  count_row(rows, "id", message.id);
  shown_row(rows, "reason", message.reason);
}

inline void describe(worker_messages::no_restart& message, record_rows& rows) {
  shown_row(rows, "reason", message.reason);
}

inline void describe(worker_messages::bad_node& message, record_rows& rows) {
  shown_row(rows, "reason", message.reason);
}

inline void describe(worker_messages::withdraw& message, record_rows& rows) {
  shown_row(rows, "reason", message.reason);
}

inline void describe(worker_messages::ask& message, record_rows& rows) {
  epoch_row(rows, message.epoch);
  shown_row(rows, "reason", message.reason);
}

inline void describe(worker_messages::ready& message, record_rows& rows) {
  epoch_row(rows, message.epoch);
}

inline void describe(worker_messages::finished& message, record_rows& rows) {
  epoch_row(rows, message.epoch);
}

inline void describe(worker_messages::await_roles& message, record_rows& rows) {
  count_row(rows, "revision", message.revision, presence::lenient);
}

// ---- from the agent -------------------------------------------------------------------------

inline void describe(control_messages::welcome& message, record_rows& rows) {
  version_row(rows, message.version);
}

inline void describe(control_messages::refused& message, record_rows& rows) {
  shown_row(rows, "reason", message.reason);
}

inline void describe(control_messages::checkpoint& message, record_rows& rows) {
  count_row(rows, "id", message.id);
  rows.seconds("within", message.within, most_control_time);
}

inline void describe(control_messages::stop& message, record_rows& rows) {
  std::optional<duration> grace;
  const bool is_known = message.grace > duration::zero() && message.grace <= most_control_time;
  if (is_known) grace = message.grace;
  if (rows.seconds("grace", grace, most_control_time)) message.grace = *grace;
}

inline void describe(control_messages::change& message, record_rows& rows) {
  epoch_row(rows, message.epoch);
  rows.seconds("within", message.within, most_control_time);
}

inline void describe(control_messages::no_change& message, record_rows& rows) {
  epoch_row(rows, message.epoch);
}

inline void describe(control_messages::rejoin& message, record_rows& rows) {
  epoch_row(rows, message.epoch);
  variables_row(rows, message.environment);
}

inline void describe(control_messages::roles& message, record_rows& rows) {
  count_row(rows, "revision", message.revision);
}

// ---- lines ----------------------------------------------------------------------------------

inline constexpr kind_names<worker_message> worker_message_kinds{
    "hello",    "heartbeat", "enter",     "leave",      "expires",  "release",
    "progress", "saved",     "not_saved", "no_restart", "bad_node", "bye",
    "survive",  "ask",       "ready",     "finished",   "prepared", "await_roles",
    "withdraw"};
inline constexpr kind_names<control_messages::agent_message> agent_message_kinds{
    "welcome", "refused", "checkpoint", "pause",  "resume",
    "stop",    "change",  "no_change",  "rejoin", "roles"};

/// The line end needs one more byte.
inline constexpr std::size_t most_control_bytes = limits::control_line_bytes - 1;

ELASTIC_DECL std::string to_line(const worker_message& message) {
  std::string line = message_text(message, worker_message_kinds) + '\n';
  const auto* progress = std::get_if<worker_messages::progress>(&message);
  if (progress == nullptr || (line.size() <= limits::control_line_bytes &&
                              progress->metrics.size() <= limits::control_metrics)) {
    return line;
  }
  worker_messages::progress shorter = *progress;
  shorter.metrics.clear();
  return message_text(worker_message(shorter), worker_message_kinds) + '\n';
}

ELASTIC_DECL std::string to_line(const control_messages::agent_message& message) {
  const std::string line = message_text(message, agent_message_kinds) + '\n';
  const auto* const rejoin = std::get_if<control_messages::rejoin>(&message);
  if (rejoin == nullptr) return line;
  for (const auto& [name, value] : rejoin->environment) {
    if (value.size() <= limits::control_value_bytes) continue;
    throw error(errc::invalid_argument,
                fmt::format("{} has {} bytes; at most {} are allowed in a rejoin message", name,
                            value.size(), limits::control_value_bytes));
  }
  if (line.size() <= limits::control_line_bytes) return line;
  throw error(errc::invalid_argument,
              fmt::format("the environment of a rejoin message takes a line of {} bytes; at most "
                          "{} are allowed",
                          line.size(), limits::control_line_bytes));
}

ELASTIC_DECL worker_message parse_worker_message(std::string_view line) {
  const json_fields fields("a control message", line, most_control_bytes);
  return read_message<worker_message>(fields, worker_message_kinds);
}

ELASTIC_DECL std::optional<control_messages::agent_message> parse_agent_message(
    std::string_view line) {
  const json_fields fields("a control message", line, most_control_bytes);
  const bool is_known = kind_index(fields, agent_message_kinds) < agent_message_kinds.size();
  if (!is_known) return std::nullopt;
  return read_message<control_messages::agent_message>(fields, agent_message_kinds);
}

}  // namespace elastic::detail
