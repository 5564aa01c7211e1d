// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/health/detail/control_message.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/health/detail/control_fields.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic::detail {

inline std::string control_quoted(std::string_view text, std::size_t most) {
  return nlohmann::json(printable(text, most))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline std::string control_quoted(std::string_view text) {
  return control_quoted(text, limits::control_text_bytes);
}

inline std::string control_name(std::string_view text) {
  return control_quoted(text, limits::control_name_bytes);
}

inline double in_seconds(duration span) { return std::chrono::duration<double>(span).count(); }

/// The same within what is allowed: a time that is over already is as short as can be said.
inline double bounded_seconds(duration span) {
  constexpr double least = 0.001;
  return std::clamp(in_seconds(span), least, most_control_seconds);
}

/// Writes a message as JSON.
struct control_writer {
  std::string operator()(const worker_messages::hello& message) const {
    return fmt::format(R"({{"kind": "hello", "version": {}, "local_rank": {}, "checkpoints": {}}})",
                       message.version, message.local_rank, message.checkpoints);
  }
  std::string operator()(const worker_messages::heartbeat& message) const {
    return fmt::format(R"({{"kind": "heartbeat"{}}})", timeout(message.timeout));
  }
  std::string operator()(const worker_messages::enter& message) const {
    return fmt::format(R"({{"kind": "enter", "section": {}{}}})", control_name(message.section),
                       timeout(message.timeout));
  }
  std::string operator()(const worker_messages::leave& message) const {
    return fmt::format(R"({{"kind": "leave", "section": {}}})", control_name(message.section));
  }
  std::string operator()(const worker_messages::expires& message) const {
    return fmt::format(R"({{"kind": "expires", "timer": {}, "after": {}}})",
                       control_name(message.timer), bounded_seconds(message.after));
  }
  std::string operator()(const worker_messages::release& message) const {
    return fmt::format(R"({{"kind": "release", "timer": {}}})", control_name(message.timer));
  }
  std::string operator()(const worker_messages::progress& message) const {
    std::string metrics;
    for (const auto& [name, value] : message.metrics) {
      if (!std::isfinite(value)) continue;  // JSON has no way to say it
      metrics += fmt::format("{}{}: {}", metrics.empty() ? "" : ", ", control_name(name), value);
    }
    return fmt::format(
        R"({{"kind": "progress", "step": {}, "total": {}, "text": {}, "metrics": {{{}}}}})",
        message.step, message.total, control_quoted(message.text), metrics);
  }
  std::string operator()(const worker_messages::saved& message) const {
    return fmt::format(R"({{"kind": "saved", "id": {}}})", message.id);
  }
  std::string operator()(const worker_messages::not_saved& message) const {
    return fmt::format(R"({{"kind": "not_saved", "id": {}, "reason": {}}})", message.id,
                       control_quoted(message.reason));
  }
  std::string operator()(const worker_messages::no_restart& message) const {
    return fmt::format(R"({{"kind": "no_restart", "reason": {}}})", control_quoted(message.reason));
  }
  std::string operator()(const worker_messages::bad_node& message) const {
    return fmt::format(R"({{"kind": "bad_node", "reason": {}}})", control_quoted(message.reason));
  }
  std::string operator()(const worker_messages::bye&) const { return R"({"kind": "bye"})"; }

  std::string operator()(const control_messages::welcome& message) const {
    return fmt::format(R"({{"kind": "welcome", "version": {}}})", message.version);
  }
  std::string operator()(const control_messages::refused& message) const {
    return fmt::format(R"({{"kind": "refused", "reason": {}}})", control_quoted(message.reason));
  }
  std::string operator()(const control_messages::checkpoint& message) const {
    return fmt::format(R"({{"kind": "checkpoint", "id": {}, "within": {}}})", message.id,
                       bounded_seconds(message.within));
  }
  std::string operator()(const control_messages::pause_work&) const {
    return R"({"kind": "pause"})";
  }
  std::string operator()(const control_messages::resume_work&) const {
    return R"({"kind": "resume"})";
  }
  std::string operator()(const control_messages::stop& message) const {
    const double grace = in_seconds(message.grace);
    if (grace <= 0 || grace > most_control_seconds) return R"({"kind": "stop"})";
    return fmt::format(R"({{"kind": "stop", "grace": {}}})", grace);
  }

 private:
  static std::string timeout(const std::optional<duration>& span) {
    return span ? fmt::format(R"(, "timeout": {})", bounded_seconds(*span)) : std::string();
  }
};

inline constexpr std::int64_t most_control_number = std::numeric_limits<std::int64_t>::max();

inline worker_messages::hello read_control_hello(const control_fields& fields) {
  worker_messages::hello message;
  message.version = static_cast<int>(fields.number("version", 1, 1'000'000));
  message.local_rank =
      static_cast<int>(fields.number("local_rank", 0, limits::local_world_size - 1));
  message.checkpoints = fields.flag_or("checkpoints", false);
  return message;
}

inline worker_messages::progress read_progress(const control_fields& fields) {
  worker_messages::progress message;
  message.step = fields.number("step", 0, most_control_number);
  message.total = fields.number_or("total", 0, most_control_number);
  message.text = fields.text_or_empty("text");
  message.metrics = fields.metrics("metrics");
  return message;
}

ELASTIC_DECL std::string to_line(const worker_message& message) {
  std::string line = std::visit(control_writer(), message) + '\n';
  const auto* progress = std::get_if<worker_messages::progress>(&message);
  if (progress == nullptr || (line.size() <= limits::control_line_bytes &&
                              progress->metrics.size() <= limits::control_metrics)) {
    return line;
  }
  worker_messages::progress shorter = *progress;
  shorter.metrics.clear();
  return control_writer()(shorter) + '\n';
}

ELASTIC_DECL std::string to_line(const agent_message& message) {
  return std::visit(control_writer(), message) + '\n';
}

ELASTIC_DECL worker_message parse_worker_message(std::string_view line) {
  namespace messages = worker_messages;
  const control_fields fields(line);
  const std::string kind = fields.kind();
  if (kind == "heartbeat") return messages::heartbeat{fields.seconds_or_none("timeout")};
  if (kind == "progress") return read_progress(fields);
  if (kind == "enter") {
    return messages::enter{fields.name("section"), fields.seconds_or_none("timeout")};
  }
  if (kind == "leave") return messages::leave{fields.name("section")};
  if (kind == "expires") return messages::expires{fields.name("timer"), fields.seconds("after")};
  if (kind == "release") return messages::release{fields.name("timer")};
  if (kind == "saved") return messages::saved{fields.number("id", 0, most_control_number)};
  if (kind == "not_saved") {
    return messages::not_saved{fields.number("id", 0, most_control_number),
                               fields.text_or_empty("reason")};
  }
  if (kind == "no_restart") return messages::no_restart{fields.text_or_empty("reason")};
  if (kind == "bad_node") return messages::bad_node{fields.text_or_empty("reason")};
  if (kind == "hello") return read_control_hello(fields);
  if (kind == "bye") return messages::bye{};
  control_fields::refuse(fmt::format("is of an unknown kind: '{}'", kind));
}

ELASTIC_DECL std::optional<agent_message> parse_agent_message(std::string_view line) {
  namespace messages = control_messages;
  const control_fields fields(line);
  const std::string kind = fields.kind();
  if (kind == "welcome") {
    return messages::welcome{static_cast<int>(fields.number("version", 1, 1'000'000))};
  }
  if (kind == "refused") return messages::refused{fields.text_or_empty("reason")};
  if (kind == "checkpoint") {
    return messages::checkpoint{fields.number("id", 0, most_control_number),
                                fields.seconds("within")};
  }
  if (kind == "pause") return messages::pause_work{};
  if (kind == "resume") return messages::resume_work{};
  if (kind == "stop") {
    messages::stop message;
    message.grace = fields.seconds_or_none("grace").value_or(duration::zero());
    return message;
  }
  return std::nullopt;
}

}  // namespace elastic::detail
