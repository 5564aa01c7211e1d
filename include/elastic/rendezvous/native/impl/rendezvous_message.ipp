// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/native/rendezvous_message.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <chrono>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic {

namespace detail {

using rendezvous_json = nlohmann::ordered_json;

/// Reads the fields of a message. Every error is `errc::protocol_violation` and names the field.
class message_fields {
 public:
  explicit message_fields(std::string_view text) {
    if (text.size() > limits::rendezvous_message_bytes) {
      refuse(fmt::format("is {} bytes long; up to {} are taken", text.size(),
                         limits::rendezvous_message_bytes));
    }
    json_ = rendezvous_json::parse(text, nullptr, false);
    if (!json_.is_object()) refuse("is no JSON object");
  }

  std::int64_t number(const char* name, std::int64_t least, std::int64_t most) const {
    const rendezvous_json& value = field(name);
    if (!value.is_number_integer()) refuse(fmt::format("has no whole number \"{}\"", name));
    const bool too_large =
        value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    const auto number = too_large ? most : value.get<std::int64_t>();
    if (too_large || number < least || number > most) {
      refuse(fmt::format("has \"{}\" outside of {} to {}", name, least, most));
    }
    return number;
  }

  int small_number(const char* name, int least, int most) const {
    return static_cast<int>(number(name, least, most));
  }

  bool flag(const char* name) const {
    const rendezvous_json& value = field(name);
    if (!value.is_boolean()) refuse(fmt::format("has no true or false \"{}\"", name));
    return value.get<bool>();
  }

  std::string text(const char* name) const {
    const rendezvous_json& value = field(name);
    if (!value.is_string()) refuse(fmt::format("has no text \"{}\"", name));
    return value.get<std::string>();
  }

  duration milliseconds(const char* name) const {
    constexpr std::int64_t longest = 1'000'000'000'000;
    return std::chrono::milliseconds(number(name, 0, longest));
  }

  [[noreturn]] static void refuse(const std::string& why) {
    throw error(errc::protocol_violation, "a message of the rendezvous " + why);
  }

 private:
  const rendezvous_json& field(const char* name) const {
    const auto position = json_.find(name);
    if (position == json_.end()) refuse(fmt::format("has no \"{}\"", name));
    return *position;
  }

  rendezvous_json json_;
};

inline constexpr std::int64_t last_round = std::numeric_limits<std::int64_t>::max() - 1;

inline constexpr int most_restarts = std::numeric_limits<int>::max() - 1;

inline std::int64_t whole_milliseconds(duration time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time).count();
}

inline std::string quoted(const std::string& text) {
  // What is not UTF-8 is replaced and not refused: it may be a worker's last words.
  return rendezvous_json(text).dump(-1, ' ', false, rendezvous_json::error_handler_t::replace);
}

inline std::string master_fields(const master_endpoint& master) {
  return fmt::format(R"("address": {}, "port": {}, "served": {})", quoted(master.address),
                     master.port, master.served_by_agent);
}

inline master_endpoint read_master(const message_fields& fields) {
  constexpr int most_ports = 65535;
  master_endpoint master;
  master.address = fields.text("address");
  master.port = static_cast<std::uint16_t>(fields.small_number("port", 0, most_ports));
  master.served_by_agent = fields.flag("served");
  return master;
}

inline const char* text_of(job_end end) {
  return end == job_end::succeeded ? "succeeded" : "failed";
}

inline job_end read_job_end(const message_fields& fields) {
  const std::string end = fields.text("end");
  if (end == "succeeded") return job_end::succeeded;
  if (end == "failed") return job_end::failed;
  message_fields::refuse(fmt::format("has an unknown \"end\": '{:.40}'", end));
}

inline const char* text_of(change_kind kind) {
  switch (kind) {
    case change_kind::node_waiting: return "node_waiting";
    case change_kind::node_lost: return "node_lost";
    case change_kind::worker_failed: return "worker_failed";
  }
  return "";
}

inline change_kind read_change_kind(const message_fields& fields) {
  const std::string kind = fields.text("change");
  for (const change_kind known :
       {change_kind::node_waiting, change_kind::node_lost, change_kind::worker_failed}) {
    if (kind == text_of(known)) return known;
  }
  message_fields::refuse(fmt::format("has an unknown \"change\": '{:.40}'", kind));
}

/// Writes a message as JSON.
struct message_writer {
  std::string operator()(const rendezvous_messages::hello& message) const {
    const rendezvous_settings& settings = message.settings;
    return fmt::format(R"({{"kind": "hello", "version": {}, "run_id": {}, "host": {}, "pid": {}, )"
                       R"("local_id": {}, "min_nodes": {}, "max_nodes": {}, "last_call_ms": {}, )"
                       R"("keep_alive_ms": {}, "keep_alive_attempts": {}, "grace_ms": {}}})",
                       message.version, quoted(message.run_id), quoted(message.node.host),
                       message.node.pid, message.node.local_id, settings.min_nodes,
                       settings.max_nodes, whole_milliseconds(settings.last_call_timeout),
                       whole_milliseconds(settings.keep_alive_interval),
                       settings.keep_alive_max_attempt,
                       whole_milliseconds(settings.reconnect_grace));
  }
  std::string operator()(const rendezvous_messages::join& message) const {
    return fmt::format(R"({{"kind": "join", "after": {}, "timeout_ms": {}, {}}})", message.after,
                       whole_milliseconds(message.timeout), master_fields(message.offer));
  }
  std::string operator()(const rendezvous_messages::keep_alive&) const {
    return R"({"kind": "keep_alive"})";
  }
  std::string operator()(const rendezvous_messages::failed& message) const {
    return fmt::format(R"({{"kind": "failed", "round": {}, "what": {}}})", message.round,
                       quoted(message.what));
  }
  std::string operator()(const rendezvous_messages::finished& message) const {
    return fmt::format(R"({{"kind": "finished", "round": {}}})", message.round);
  }
  std::string operator()(const rendezvous_messages::leave&) const { return R"({"kind": "leave"})"; }
  std::string operator()(const rendezvous_messages::close_job& message) const {
    return fmt::format(R"({{"kind": "close", "end": "{}", "why": {}}})", text_of(message.end),
                       quoted(message.why));
  }
  std::string operator()(const rendezvous_messages::ask_status&) const {
    return R"({"kind": "ask_status"})";
  }

  std::string operator()(const rendezvous_messages::welcome& message) const {
    return fmt::format(R"({{"kind": "welcome", "resumed": {}}})", message.resumed);
  }
  std::string operator()(const rendezvous_messages::refused& message) const {
    return fmt::format(R"({{"kind": "refused", "timeout": {}, "why": {}}})", message.timeout,
                       quoted(message.why));
  }
  std::string operator()(const rendezvous_messages::placed& message) const {
    return fmt::format(
        R"({{"kind": "placed", "round": {}, "rank": {}, "world": {}, "restarts": {}, {}}})",
        message.round, message.rank, message.world, message.restarts,
        master_fields(message.master));
  }
  std::string operator()(const rendezvous_messages::changed& message) const {
    return fmt::format(
        R"({{"kind": "changed", "round": {}, "change": "{}", "restarts": {}, "what": {}}})",
        message.round, text_of(message.what.kind), message.what.restarts,
        quoted(message.what.what));
  }
  std::string operator()(const rendezvous_messages::all_finished& message) const {
    return fmt::format(R"({{"kind": "all_finished", "round": {}}})", message.round);
  }
  std::string operator()(const rendezvous_messages::closed& message) const {
    return fmt::format(R"({{"kind": "closed", "end": "{}", "why": {}}})", text_of(message.end),
                       quoted(message.why));
  }
  std::string operator()(const rendezvous_messages::alive&) const { return R"({"kind": "alive"})"; }
  std::string operator()(const rendezvous_messages::status& message) const {
    return fmt::format(R"({{"kind": "status", "waiting": {}, "closed": {}}})", message.waiting,
                       message.is_closed);
  }
};

inline rendezvous_messages::hello read_hello(const message_fields& fields) {
  constexpr int most = std::numeric_limits<int>::max();
  rendezvous_messages::hello message;
  message.version = fields.small_number("version", 1, most);
  message.run_id = fields.text("run_id");
  message.node.host = fields.text("host");
  message.node.pid = fields.number("pid", 0, std::numeric_limits<std::int64_t>::max());
  message.node.local_id = fields.number("local_id", 0, std::numeric_limits<std::int64_t>::max());
  rendezvous_settings& settings = message.settings;
  settings.min_nodes = fields.small_number("min_nodes", 1, limits::nodes);
  settings.max_nodes = fields.small_number("max_nodes", settings.min_nodes, limits::nodes);
  settings.last_call_timeout = fields.milliseconds("last_call_ms");
  settings.keep_alive_interval = fields.milliseconds("keep_alive_ms");
  settings.keep_alive_max_attempt = fields.small_number("keep_alive_attempts", 1, 1'000'000);
  settings.reconnect_grace = fields.milliseconds("grace_ms");
  return message;
}

}  // namespace detail

ELASTIC_DECL std::string to_text(const rendezvous_request& message) {
  return std::visit(detail::message_writer(), message);
}

ELASTIC_DECL std::string to_text(const rendezvous_answer& message) {
  return std::visit(detail::message_writer(), message);
}

ELASTIC_DECL rendezvous_request parse_rendezvous_request(std::string_view text) {
  namespace messages = rendezvous_messages;
  const detail::message_fields fields(text);
  const std::string kind = fields.text("kind");
  if (kind == "hello") return detail::read_hello(fields);
  if (kind == "join") {
    return messages::join{fields.number("after", -1, detail::last_round),
                          fields.milliseconds("timeout_ms"), detail::read_master(fields)};
  }
  if (kind == "keep_alive") return messages::keep_alive{};
  if (kind == "failed") {
    return messages::failed{fields.number("round", 0, detail::last_round), fields.text("what")};
  }
  if (kind == "finished") return messages::finished{fields.number("round", 0, detail::last_round)};
  if (kind == "leave") return messages::leave{};
  if (kind == "close") return messages::close_job{detail::read_job_end(fields), fields.text("why")};
  if (kind == "ask_status") return messages::ask_status{};
  detail::message_fields::refuse(fmt::format("is of an unknown kind: '{:.40}'", kind));
}

ELASTIC_DECL rendezvous_answer parse_rendezvous_answer(std::string_view text) {
  namespace messages = rendezvous_messages;
  const detail::message_fields fields(text);
  const std::string kind = fields.text("kind");
  if (kind == "welcome") return messages::welcome{fields.flag("resumed")};
  if (kind == "refused") return messages::refused{fields.flag("timeout"), fields.text("why")};
  if (kind == "placed") {
    messages::placed message;
    message.round = fields.number("round", 0, detail::last_round);
    message.world = fields.small_number("world", 1, limits::nodes);
    message.rank = fields.small_number("rank", 0, message.world - 1);
    message.restarts = fields.small_number("restarts", 0, detail::most_restarts);
    message.master = detail::read_master(fields);
    return message;
  }
  if (kind == "changed") {
    messages::changed message;
    message.round = fields.number("round", 0, detail::last_round);
    message.what.kind = detail::read_change_kind(fields);
    message.what.restarts = fields.small_number("restarts", 0, detail::most_restarts);
    message.what.what = fields.text("what");
    return message;
  }
  if (kind == "all_finished") {
    return messages::all_finished{fields.number("round", 0, detail::last_round)};
  }
  if (kind == "closed") return messages::closed{detail::read_job_end(fields), fields.text("why")};
  if (kind == "alive") return messages::alive{};
  if (kind == "status") {
    return messages::status{fields.small_number("waiting", 0, limits::nodes),
                            fields.flag("closed")};
  }
  detail::message_fields::refuse(fmt::format("is of an unknown kind: '{:.40}'", kind));
}

}  // namespace elastic
