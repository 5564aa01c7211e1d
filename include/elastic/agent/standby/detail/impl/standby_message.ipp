// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/standby/detail/standby_message.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr char standby_version[] = "1";

[[noreturn]] inline void refuse_standby_message(std::string_view problem) {
  throw error(errc::protocol_violation, fmt::format("a message of a standby {}", problem));
}

inline std::vector<std::string> standby_fields(std::string_view bytes) {
  std::vector<std::string> fields;
  for (;;) {
    const std::size_t zero = bytes.find('\0');
    fields.emplace_back(bytes.substr(0, zero));
    if (zero == std::string_view::npos) return fields;
    bytes.remove_prefix(zero + 1);
  }
}

inline pid_t standby_pid(const std::string& text) {
  pid_t pid = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, pid);
  const bool is_plain = !text.empty() && text[0] != '0' && text[0] != '-';
  if (failure != std::errc() || stop != end || !is_plain) {
    refuse_standby_message("names no process");
  }
  return pid;
}

inline standby_message ready_standby(std::vector<std::string> fields) {
  if (fields.size() < 3) refuse_standby_message("is too short");
  if (fields[1] != standby_version) refuse_standby_message("is of another version");
  standby_message message;
  message.pid = standby_pid(fields[2]);
  fields.erase(fields.begin(), fields.begin() + 3);
  for (const std::string& name : fields) {
    if (name.empty()) refuse_standby_message("has an empty name");
  }
  message.missing = std::move(fields);
  return message;
}

ELASTIC_DECL standby_message parse_standby_message(std::string_view bytes) {
  using kind = standby_message::kind;
  if (bytes.size() > limits::standby_message_bytes) refuse_standby_message("is too long");
  std::vector<std::string> fields = standby_fields(bytes);
  const std::string name = fields[0];
  if (name == "ready") return ready_standby(std::move(fields));
  standby_message message;
  if (name == "prepared" && fields.size() == 1) {
    message.what = kind::prepared;
  } else if (name == "refused" && fields.size() == 2) {
    message.what = kind::refused;
    message.reason = std::move(fields[1]);
  } else if (name == "dropped" && fields.size() == 3 && !fields[1].empty()) {
    message.what = kind::dropped;
    message.module = std::move(fields[1]);
    message.reason = std::move(fields[2]);
  } else {
    refuse_standby_message("is of no known kind");
  }
  return message;
}

ELASTIC_DECL std::string bytes_of(const standby_message& message) {
  using kind = standby_message::kind;
  std::string bytes;
  const auto add = [&](std::string_view field) {
    bytes += '\0';
    bytes += field;
  };
  switch (message.what) {
    case kind::prepared: bytes = "prepared"; break;
    case kind::refused:
      bytes = "refused";
      add(message.reason);
      break;
    case kind::dropped:
      bytes = "dropped";
      add(message.module);
      add(message.reason);
      break;
    case kind::ready:
      bytes = "ready";
      add(standby_version);
      add(std::to_string(message.pid));
      for (const std::string& name : message.missing) add(name);
      break;
  }
  return bytes;
}

ELASTIC_DECL std::string preparation_of(const std::vector<variable_change>& changes) {
  std::string bytes = "prepare";
  for (const variable_change& change : changes) {
    bytes += '\0';
    bytes += change.value ? '+' : '-';
    bytes += change.name;
    if (change.value) bytes += '=' + *change.value;
  }
  return bytes;
}

}  // namespace elastic::detail
