// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/console_event_handler.hpp>

#include <elastic/base/detail/json.hpp>

#include <optional>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// A JSON text as Python's json.dumps writes it: only ASCII, with invalid UTF-8 replaced.
inline std::string event_text(std::string_view text) {
  using json = nlohmann::ordered_json;
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

inline std::string event_text(const std::optional<std::string>& text) {
  return text ? event_text(std::string_view(*text)) : "null";
}

template <class T>
std::string event_number(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string("null");
}

/// The part of an event that is JSON inside a JSON text.
inline std::string event_inner_metadata(const event& happened) {
  std::string inner = fmt::format("{{\"group_world_size\": {}, \"entry_point\": {}",
                                  event_number(happened.group_world_size),
                                  event_text(std::string_view(happened.entry_point)));
  if (const auto& worker = happened.worker) {
    const auto number = [](bool is_known, int value) {
      return is_known ? std::to_string(value) : std::string("null");
    };
    // torchrun gives the process id only of a failed worker.
    const bool has_failed = worker->exit_code.has_value();
    inner += fmt::format(
        ", \"local_rank\": [{}], \"role_rank\": [{}], \"role_world_size\": [{}], "
        "\"exit_code\": [{}], \"worker_pid\": [{}]",
        worker->local_rank, worker->role_rank, worker->role_world_size,
        number(has_failed, worker->exit_code.value_or(0)), number(has_failed, worker->pid));
  }
  return inner + "}";
}

}  // namespace detail

ELASTIC_DECL std::string to_json_line(const event& happened) {
  const auto text = [](std::string_view value) { return detail::event_text(value); };
  const auto& worker = happened.worker;
  const std::string metadata = fmt::format(
      "\"run_id\": {}, \"global_rank\": {}, \"group_rank\": {}, \"worker_id\": {}, \"role\": {}, "
      "\"hostname\": {}, \"state\": {}, \"total_run_time\": {}, \"rdzv_backend\": {}, "
      "\"raw_error\": {}, \"metadata\": {}, \"agent_restarts\": {}, \"duration_ms\": {}",
      text(happened.run_id), worker ? fmt::format("{}", worker->global_rank) : "null",
      detail::event_number(happened.group_rank),
      worker ? fmt::format("\"{}\"", worker->pid) : "null", text(happened.role),
      text(happened.hostname), text(happened.state), happened.total_run_time,
      text(happened.rdzv_backend), detail::event_text(happened.raw_error),
      text(detail::event_inner_metadata(happened)), happened.agent_restarts,
      detail::event_number(happened.duration_ms));
  return fmt::format("{{\"name\": {}, \"source\": \"{}\", \"timestamp\": 0, \"metadata\": {{{}}}}}",
                     text(happened.name),
                     happened.source == event::origin::agent ? "AGENT" : "WORKER", metadata);
}

ELASTIC_DECL void console_event_handler::record(const event& happened) {
  sink_(to_json_line(happened));
}

}  // namespace elastic
