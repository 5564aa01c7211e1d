// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/standby_message.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr char standby_version[] = "2";

/// The first field of a message, for each `standby_message::kind`.
inline constexpr std::array<std::string_view, 4> standby_kind_names{"ready", "dropped", "prepared",
                                                                    "refused"};

/// The further fields of each kind but `ready`, in their order.
inline std::vector<std::string*> standby_texts(standby_message& message) {
  switch (message.what) {
    case standby_message::kind::dropped: return {&message.module, &message.reason};
    case standby_message::kind::refused: return {&message.reason};
    default: return {};
  }
}

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
  for (const std::string& field : fields) {
    if (field.size() < 2) refuse_standby_message("has an empty name");
    if (field[0] != '-' && field[0] != '=') refuse_standby_message("has a name of an unknown kind");
    (field[0] == '-' ? message.missing : message.variables).push_back(field.substr(1));
  }
  return message;
}

ELASTIC_DECL standby_message parse_standby_message(std::string_view bytes) {
  if (bytes.size() > limits::standby_message_bytes) {
    refuse_standby_message(fmt::format("is {} bytes long; up to {} are taken", bytes.size(),
                                       limits::standby_message_bytes));
  }
  std::vector<std::string> fields = standby_fields(bytes);
  const auto& names = standby_kind_names;
  const auto position = std::find(names.begin(), names.end(), fields[0]);
  if (position == names.end()) refuse_standby_message("is of an unknown kind");
  standby_message message;
  message.what = static_cast<standby_message::kind>(position - names.begin());
  if (message.what == standby_message::kind::ready) return ready_standby(std::move(fields));
  const std::vector<std::string*> texts = standby_texts(message);
  if (fields.size() != 1 + texts.size()) {
    refuse_standby_message(
        fmt::format("has {} fields after its kind, not {}", fields.size() - 1, texts.size()));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) *texts[i] = std::move(fields[1 + i]);
  const bool is_dropped = message.what == standby_message::kind::dropped;
  if (is_dropped && message.module.empty()) refuse_standby_message("has an empty name");
  return message;
}

ELASTIC_DECL std::string bytes_of(const standby_message& message) {
  standby_message copy = message;
  std::string bytes(standby_kind_names[static_cast<std::size_t>(copy.what)]);
  const auto add = [&](std::string_view field) {
    bytes += '\0';
    bytes += field;
  };
  if (copy.what == standby_message::kind::ready) {
    add(standby_version);
    add(std::to_string(copy.pid));
    for (const std::string& name : copy.missing) add("-" + name);
    for (const std::string& name : copy.variables) add("=" + name);
  }
  for (const std::string* text : standby_texts(copy)) add(*text);
  return bytes;
}

ELASTIC_DECL std::string preparation_of(const std::vector<variable_change>& changes,
                                        const std::string& processors) {
  std::string bytes = "prepare";
  for (const variable_change& change : changes) {
    bytes += '\0';
    bytes += change.value ? '+' : '-';
    bytes += change.name;
    if (change.value) bytes += '=' + *change.value;
  }
  if (!processors.empty()) {
    bytes += '\0';
    bytes += '@' + processors;
  }
  return bytes;
}

}  // namespace elastic::detail
