// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Includes the whole of nlohmann/json, for the escapes of JSON texts.

#include <elastic/telemetry/detail/stderr_line.hpp>
#include <elastic/telemetry/event_handler.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {

namespace detail {

/// A JSON text as Python's json.dumps writes it: ASCII only; bad UTF-8 is replaced.
inline std::string event_text(std::string_view text) {
  return nlohmann::ordered_json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

inline std::string event_text(const std::optional<std::string>& text) {
  return text ? event_text(std::string_view(*text)) : "null";
}

/// The part of an event that is JSON within a JSON text.
inline std::string event_inner_metadata(const event& happened) {
  std::string inner = fmt::format("{{\"group_world_size\": {}, \"entry_point\": {}",
                                  happened.group_world_size,
                                  event_text(std::string_view(happened.entry_point)));
  if (const auto& worker = happened.worker) {
    inner += fmt::format(
        ", \"local_rank\": [{}], \"role_rank\": [{}], \"role_world_size\": [{}]",
        worker->local_rank, worker->role_rank, worker->role_world_size);
  }
  return inner + "}";
}

}  // namespace detail

/// One event as a line of JSON, without a line end: keys, their order and the blanks are
/// torchelastic's, so that what reads its log reads this one.
inline std::string to_json_line(const event& happened) {
  const auto text = [](std::string_view value) { return detail::event_text(value); };
  const auto number = [](const std::optional<int>& value) {
    return value ? fmt::format("{}", *value) : std::string("null");
  };
  const auto& worker = happened.worker;
  const std::string metadata = fmt::format(
      "\"run_id\": {}, \"global_rank\": {}, \"group_rank\": {}, \"worker_id\": {}, \"role\": {}, "
      "\"hostname\": {}, \"state\": {}, \"total_run_time\": {}, \"rdzv_backend\": {}, "
      "\"raw_error\": {}, \"metadata\": {}, \"agent_restarts\": {}",
      text(happened.run_id), worker ? fmt::format("{}", worker->global_rank) : "null",
      number(happened.group_rank), worker ? fmt::format("\"{}\"", worker->pid) : "null",
      text(happened.role), text(happened.hostname), text(happened.state), happened.total_run_time,
      text(happened.rdzv_backend), detail::event_text(happened.raw_error),
      text(detail::event_inner_metadata(happened)), happened.agent_restarts);
  return fmt::format(
      "{{\"name\": {}, \"source\": \"{}\", \"timestamp\": 0, \"metadata\": {{{}}}}}",
      text(happened.name), happened.source == event_source::agent ? "AGENT" : "WORKER", metadata);
}

/// Writes each event as one line of JSON.
class console_event_handler final : public event_handler {
 public:
  /// Takes a line without its end.
  using line_sink = std::function<void(std::string_view)>;

  /// To stderr, as torchrun does.
  console_event_handler() : sink_(&detail::write_stderr_line) {}
  /// To a sink of your own; what it throws goes to the caller of `record`.
  explicit console_event_handler(line_sink sink) : sink_(std::move(sink)) {}

  void record(const event& happened) override { sink_(to_json_line(happened)); }

 private:
  line_sink sink_;
};

}  // namespace elastic
