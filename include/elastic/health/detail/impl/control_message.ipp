// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/health/detail/control_message.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic::detail {

ELASTIC_DECL std::string printable(std::string_view text, std::size_t most) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    if (byte < 0x20 || byte == 0x7f) {
      shown += ' ';
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      ++at;  // U+0080 to U+009F: control characters, too
      shown += ' ';
    } else {
      shown += text[at];
    }
  }
  if (shown.size() <= most) return shown;
  while (most > 0 && (static_cast<unsigned char>(shown[most]) & 0xc0) == 0x80) --most;
  shown.resize(most);
  return shown;
}

/// The longest time that is said: some three years.
inline constexpr double most_control_seconds = 1e8;

/// The fields of a line, each read with its bounds.
class control_fields {
 public:
  explicit control_fields(std::string_view line) {
    if (line.size() >= limits::control_line_bytes) {
      refuse(fmt::format("is {} bytes long; {} are allowed, the line end included", line.size(),
                         limits::control_line_bytes));
    }
    json_ = nlohmann::json::parse(line, nullptr, false);
    if (!json_.is_object()) {
      refuse(fmt::format("is no JSON object: '{}'", printable(ascii(line), 80)));
    }
  }

  std::string kind() const { return text("kind", limits::control_name_bytes); }

  std::int64_t number(const char* name, std::int64_t least, std::int64_t most) const {
    const nlohmann::json& value = field(name);
    if (!value.is_number_integer()) refuse(fmt::format("has no whole number \"{}\"", name));
    const bool too_large =
        value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    const auto number = too_large ? most : value.get<std::int64_t>();
    if (too_large || number < least || number > most) {
      refuse(fmt::format("has \"{}\" outside of {} to {}", name, least, most));
    }
    return number;
  }

  std::int64_t number_or(const char* name, std::int64_t otherwise, std::int64_t most) const {
    return has(name) ? number(name, 0, most) : otherwise;
  }

  bool flag_or(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    const nlohmann::json& value = field(name);
    if (!value.is_boolean()) refuse(fmt::format("has no true or false \"{}\"", name));
    return value.get<bool>();
  }

  std::string text(const char* name, std::size_t most) const {
    const nlohmann::json& value = field(name);
    if (!value.is_string()) refuse(fmt::format("has no text \"{}\"", name));
    return printable(value.get_ref<const std::string&>(), most);
  }

  std::string text_or_empty(const char* name) const {
    return has(name) ? text(name, limits::control_text_bytes) : std::string();
  }

  /// A name: not empty, and refused if it is too long, since cut ones could be the same.
  std::string name(const char* field_name) const {
    const std::string value = text(field_name, limits::control_line_bytes);
    if (value.empty() || value.size() > limits::control_name_bytes) {
      refuse(fmt::format("has a \"{}\" of {} bytes; 1 to {} are allowed", field_name, value.size(),
                         limits::control_name_bytes));
    }
    return value;
  }

  duration seconds(const char* name) const {
    constexpr double most = most_control_seconds;
    const nlohmann::json& value = field(name);
    if (!value.is_number()) refuse(fmt::format("has no number of seconds \"{}\"", name));
    const double number = value.get<double>();
    if (!(number > 0) || number > most) {
      refuse(fmt::format("has \"{}\" outside of 0 to {} seconds", name, most));
    }
    return std::chrono::ceil<duration>(std::chrono::duration<double>(number));
  }

  std::optional<duration> seconds_or_none(const char* name) const {
    return has(name) ? std::optional<duration>(seconds(name)) : std::nullopt;
  }

  double real(const char* name) const {
    const nlohmann::json& value = field(name);
    if (!value.is_number()) refuse(fmt::format("has no number \"{}\"", name));
    return value.get<double>();
  }

  std::map<std::string, double> metrics(const char* name) const {
    std::map<std::string, double> values;
    if (!has(name)) return values;
    const nlohmann::json& all = field(name);
    if (!all.is_object() || all.size() > limits::control_metrics) {
      refuse(fmt::format("has \"{}\" that are no object of at most {} numbers", name,
                         limits::control_metrics));
    }
    for (const auto& [key, value] : all.items()) {
      if (!value.is_number() || key.size() > limits::control_name_bytes) {
        refuse(fmt::format("has a metric '{:.40}' that is no number, or of a name over {} bytes",
                           printable(key, limits::control_name_bytes), limits::control_name_bytes));
      }
      values[printable(key, limits::control_name_bytes)] = value.get<double>();
    }
    return values;
  }

  [[noreturn]] static void refuse(const std::string& why) {
    throw error(errc::protocol_violation, "a control message " + why);
  }

 private:
  // What is no JSON need not be UTF-8 either.
  static std::string ascii(std::string_view text) {
    std::string shown(text.substr(0, 80));
    for (char& letter : shown) {
      if ((static_cast<unsigned char>(letter) & 0x80) != 0) letter = '?';
    }
    return shown;
  }

  bool has(const char* name) const {
    const auto found = json_.find(name);
    return found != json_.end() && !found->is_null();
  }

  const nlohmann::json& field(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) refuse(fmt::format("has no \"{}\"", name));
    return *found;
  }

  nlohmann::json json_;
};

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
  std::string operator()(const worker_messages::hello& said) const {
    return fmt::format(R"({{"kind": "hello", "version": {}, "local_rank": {}, "checkpoints": {}}})",
                       said.version, said.local_rank, said.checkpoints);
  }
  std::string operator()(const worker_messages::heartbeat& said) const {
    return fmt::format(R"({{"kind": "heartbeat"{}}})", timeout(said.timeout));
  }
  std::string operator()(const worker_messages::enter& said) const {
    return fmt::format(R"({{"kind": "enter", "section": {}{}}})", control_name(said.section),
                       timeout(said.timeout));
  }
  std::string operator()(const worker_messages::leave& said) const {
    return fmt::format(R"({{"kind": "leave", "section": {}}})", control_name(said.section));
  }
  std::string operator()(const worker_messages::expires& said) const {
    return fmt::format(R"({{"kind": "expires", "timer": {}, "after": {}}})",
                       control_name(said.timer), bounded_seconds(said.after));
  }
  std::string operator()(const worker_messages::release& said) const {
    return fmt::format(R"({{"kind": "release", "timer": {}}})", control_name(said.timer));
  }
  std::string operator()(const worker_messages::progress& said) const {
    std::string metrics;
    for (const auto& [name, value] : said.metrics) {
      if (!std::isfinite(value)) continue;  // JSON has no way to say it
      metrics += fmt::format("{}{}: {}", metrics.empty() ? "" : ", ", control_name(name), value);
    }
    return fmt::format(
        R"({{"kind": "progress", "step": {}, "total": {}, "text": {}, "metrics": {{{}}}}})",
        said.step, said.total, control_quoted(said.text), metrics);
  }
  std::string operator()(const worker_messages::saved& said) const {
    return fmt::format(R"({{"kind": "saved", "id": {}}})", said.id);
  }
  std::string operator()(const worker_messages::not_saved& said) const {
    return fmt::format(R"({{"kind": "not_saved", "id": {}, "reason": {}}})", said.id,
                       control_quoted(said.reason));
  }
  std::string operator()(const worker_messages::no_restart& said) const {
    return fmt::format(R"({{"kind": "no_restart", "reason": {}}})", control_quoted(said.reason));
  }
  std::string operator()(const worker_messages::bad_node& said) const {
    return fmt::format(R"({{"kind": "bad_node", "reason": {}}})", control_quoted(said.reason));
  }
  std::string operator()(const worker_messages::bye&) const { return R"({"kind": "bye"})"; }

  std::string operator()(const control_messages::welcome& said) const {
    return fmt::format(R"({{"kind": "welcome", "version": {}}})", said.version);
  }
  std::string operator()(const control_messages::refused& said) const {
    return fmt::format(R"({{"kind": "refused", "reason": {}}})", control_quoted(said.reason));
  }
  std::string operator()(const control_messages::checkpoint& said) const {
    return fmt::format(R"({{"kind": "checkpoint", "id": {}, "within": {}}})", said.id,
                       bounded_seconds(said.within));
  }
  std::string operator()(const control_messages::pause&) const { return R"({"kind": "pause"})"; }
  std::string operator()(const control_messages::resume&) const { return R"({"kind": "resume"})"; }
  std::string operator()(const control_messages::stop& said) const {
    const double grace = in_seconds(said.grace);
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
  worker_messages::hello said;
  said.version = static_cast<int>(fields.number("version", 1, 1'000'000));
  said.local_rank = static_cast<int>(fields.number("local_rank", 0, limits::local_world_size - 1));
  said.checkpoints = fields.flag_or("checkpoints", false);
  return said;
}

inline worker_messages::progress read_progress(const control_fields& fields) {
  worker_messages::progress said;
  said.step = fields.number("step", 0, most_control_number);
  said.total = fields.number_or("total", 0, most_control_number);
  said.text = fields.text_or_empty("text");
  said.metrics = fields.metrics("metrics");
  return said;
}

ELASTIC_DECL std::string to_line(const worker_message& said) {
  std::string line = std::visit(control_writer(), said) + '\n';
  const auto* progress = std::get_if<worker_messages::progress>(&said);
  if (progress == nullptr || (line.size() <= limits::control_line_bytes &&
                              progress->metrics.size() <= limits::control_metrics)) {
    return line;
  }
  worker_messages::progress shorter = *progress;
  shorter.metrics.clear();
  return control_writer()(shorter) + '\n';
}

ELASTIC_DECL std::string to_line(const agent_message& said) {
  return std::visit(control_writer(), said) + '\n';
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
  if (kind == "pause") return messages::pause{};
  if (kind == "resume") return messages::resume{};
  if (kind == "stop") {
    messages::stop said;
    said.grace = fields.seconds_or_none("grace").value_or(duration::zero());
    return said;
  }
  return std::nullopt;
}

}  // namespace elastic::detail
