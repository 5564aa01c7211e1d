// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/native/detail/candidate_message.hpp>

#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/limits.hpp>

#include <chrono>
#include <limits>

#include <fmt/format.h>

namespace elastic::detail {

inline json_object of_candidate_kind(const char* kind) { return json_object().add("kind", kind); }

/// Writes a message as JSON.
struct candidate_message_writer {
  std::string operator()(const candidate_messages::peer& message) const {
    const auto whole_milliseconds = [](duration time) {
      return std::chrono::ceil<std::chrono::milliseconds>(time).count();
    };
    const rendezvous_settings& settings = message.settings;
    return of_candidate_kind("peer")
        .add("index", message.index)
        .add("run_id", message.run_id)
        .add("list", message.list)
        .add("node", fmt::format("{:016x}", message.node))
        .add("keep_alive_ms", whole_milliseconds(settings.keep_alive_interval))
        .add("keep_alive_attempts", settings.keep_alive_max_attempt)
        .add("grace_ms", whole_milliseconds(settings.reconnect_grace))
        .text();
  }
  std::string operator()(const candidate_messages::seek& message) const {
    json_object object = of_candidate_kind("seek");
    object.add("run_id", message.run_id)
        .add("list", message.list)
        .add("most_term", message.most_term)
        .add("index", message.index);
    if (message.index >= 0) object.add("node", fmt::format("{:016x}", message.node));
    return object.text();
  }
  std::string operator()(const candidate_messages::vote& message) const {
    return of_candidate_kind("vote")
        .add("term", message.term)
        .add("try", message.is_try)
        .add("fresh", message.is_fresh)
        .text();
  }
  std::string operator()(const candidate_messages::write& message) const {
    json_object object = of_candidate_kind("write");
    object.add("term", message.term).add("stamp", message.stamp);
    add_register(object, message.value);
    return object.text();
  }
  std::string operator()(const candidate_messages::resign& message) const {
    return of_candidate_kind("resign")
        .add("term", message.term)
        .add("done", message.is_done)
        .text();
  }
  std::string operator()(const candidate_messages::retire& message) const {
    return of_candidate_kind("retire")
        .add("term", message.term)
        .add("stamp", message.stamp)
        .add("since_ms", std::chrono::floor<std::chrono::milliseconds>(message.since_then).count())
        .text();
  }
  std::string operator()(const candidate_messages::rejected& message) const {
    return of_candidate_kind("rejected").add("why", message.why).text();
  }
  std::string operator()(const candidate_messages::present& message) const {
    return of_candidate_kind("present")
        .add("index", message.index)
        .add("node", fmt::format("{:016x}", message.node))
        .add("network", message.network)
        .text();
  }
  std::string operator()(const candidate_messages::accepted&) const {
    return of_candidate_kind("accepted").text();
  }
  std::string operator()(const candidate_messages::wait& message) const {
    return of_candidate_kind("wait").add("index", message.index).text();
  }
  std::string operator()(const candidate_messages::leads& message) const {
    return of_candidate_kind("leads").add("term", message.term).add("index", message.index).text();
  }
  std::string operator()(const candidate_messages::grant& message) const {
    json_object object = of_candidate_kind("grant");
    object.add("term", message.term)
        .add("try", message.is_try)
        .add("yes", message.yes)
        .add("blank", message.is_blank)
        .add("restarted", message.has_restarted)
        .add("own_term", message.own_term)
        .add("has_register", message.value.has_value());
    if (message.value) add_register(object, *message.value);
    return object.text();
  }
  std::string operator()(const candidate_messages::ack& message) const {
    return of_candidate_kind("ack")
        .add("term", message.term)
        .add("taken", message.is_taken)
        .add("sequence", message.sequence)
        .add("stamp", message.stamp)
        .add("own_term", message.own_term)
        .text();
  }
};

/// The fields of a message whose numbers are terms, sequences and stamps.
struct candidate_fields : json_fields {
  explicit candidate_fields(std::string_view text)
      : json_fields("a message between candidates", text, limits::rendezvous_register_bytes) {}

  std::int64_t count(const char* name) const {
    return number(name, 0, std::numeric_limits<std::int64_t>::max() / 2);
  }

  duration span(const char* name) const {
    constexpr std::int64_t longest = 1'000'000'000'000;
    return std::chrono::milliseconds(number(name, 0, longest));
  }

  int place(int least = 0) const {
    return small_number("index", least, limits::rendezvous_candidates - 1);
  }
};

inline candidate_messages::peer read_peer(const candidate_fields& fields) {
  candidate_messages::peer message;
  message.index = fields.place();
  message.run_id = fields.text("run_id");
  message.list = fields.text("list");
  message.node = read_number(fields, "node");
  rendezvous_settings& settings = message.settings;
  settings.keep_alive_interval = fields.span("keep_alive_ms");
  settings.keep_alive_max_attempt = fields.small_number("keep_alive_attempts", 2, 1'000'000);
  settings.reconnect_grace = fields.span("grace_ms");
  return message;
}

inline candidate_messages::seek read_seek(const candidate_fields& fields) {
  candidate_messages::seek message;
  message.run_id = fields.text("run_id");
  message.list = fields.text("list");
  // Terms go on from it, and nodes may not tell greater ones than that.
  message.most_term = fields.number("most_term", 0, limits::rendezvous_told_number / 2);
  message.index = fields.place(-1);
  if (message.index >= 0) message.node = read_number(fields, "node");
  return message;
}

ELASTIC_DECL std::string candidate_text(const candidate_request& message) {
  return std::visit(candidate_message_writer(), message);
}

ELASTIC_DECL std::string candidate_text(const candidate_answer& message) {
  return std::visit(candidate_message_writer(), message);
}

ELASTIC_DECL std::optional<candidate_request> parse_candidate_request(std::string_view text) {
  namespace messages = candidate_messages;
  const candidate_fields fields(text);
  const std::string kind = fields.text("kind");
  if (kind == "hello" || kind == "witness") return std::nullopt;
  if (kind == "peer") return read_peer(fields);
  if (kind == "seek") return read_seek(fields);
  if (kind == "vote") {
    return messages::vote{fields.count("term"), fields.flag("try"), fields.flag("fresh")};
  }
  if (kind == "write") {
    return messages::write{fields.count("term"), fields.count("stamp"), read_register(fields)};
  }
  if (kind == "resign") return messages::resign{fields.count("term"), fields.flag("done")};
  if (kind == "retire") {
    return messages::retire{fields.count("term"), fields.count("stamp"), fields.span("since_ms")};
  }
  fields.refuse(fmt::format("is of an unknown kind: '{:.40}'", kind));
}

ELASTIC_DECL candidate_answer parse_candidate_answer(std::string_view text) {
  namespace messages = candidate_messages;
  const candidate_fields fields(text);
  const std::string kind = fields.text("kind");
  if (kind == "rejected") return messages::rejected{fields.text("why")};
  if (kind == "present") {
    return messages::present{fields.place(), read_number(fields, "node"), fields.text("network")};
  }
  if (kind == "accepted") return messages::accepted{};
  if (kind == "wait") return messages::wait{fields.place()};
  if (kind == "leads") return messages::leads{fields.count("term"), fields.place()};
  if (kind == "grant") {
    messages::grant message;
    message.term = fields.count("term");
    message.is_try = fields.flag("try");
    message.yes = fields.flag("yes");
    message.is_blank = fields.flag("blank");
    message.has_restarted = fields.flag("restarted");
    message.own_term = fields.count("own_term");
    if (fields.flag("has_register")) message.value = read_register(fields);
    return message;
  }
  if (kind == "ack") {
    return messages::ack{fields.count("term"), fields.flag("taken"), fields.count("sequence"),
                         fields.count("stamp"), fields.count("own_term")};
  }
  fields.refuse(fmt::format("is of an unknown kind: '{:.40}'", kind));
}

}  // namespace elastic::detail
