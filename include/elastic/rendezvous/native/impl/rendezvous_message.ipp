// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/native/rendezvous_message.hpp>

#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/address_filter.hpp>

#include <charconv>
#include <chrono>
#include <limits>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline json_fields message_fields(std::string_view text) {
  return json_fields("a message of the rendezvous", text, limits::rendezvous_message_bytes);
}

inline duration milliseconds(const json_fields& fields, const char* name) {
  constexpr std::int64_t longest = 1'000'000'000'000;
  return std::chrono::milliseconds(fields.number(name, 0, longest));
}

inline constexpr std::int64_t last_round = std::numeric_limits<std::int64_t>::max() - 1;

/// A server counts on from the greatest term that it hears.
inline constexpr std::int64_t last_term = std::numeric_limits<std::int64_t>::max() / 2;

inline std::int64_t whole_milliseconds(duration time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time).count();
}

inline json_object of_kind(const char* kind) { return json_object().add("kind", kind); }

inline json_object& add_master(json_object& object, const master_endpoint& master) {
  return object.add("address", master.address)
      .add("port", master.port)
      .add("served", master.served_by_agent);
}

inline master_endpoint read_master(const json_fields& fields) {
  constexpr int most_ports = 65535;
  master_endpoint master;
  master.address = fields.text("address", limits::host_name_bytes);
  master.port = static_cast<std::uint16_t>(fields.small_number("port", 0, most_ports));
  master.served_by_agent = fields.flag("served");
  return master;
}

inline const char* text_of(job_end end) {
  return end == job_end::succeeded ? "succeeded" : "failed";
}

inline job_end read_job_end(const json_fields& fields) {
  const std::string end = fields.text("end");
  if (end == "succeeded") return job_end::succeeded;
  if (end == "failed") return job_end::failed;
  fields.refuse(fmt::format("has an unknown \"end\": '{:.40}'", end));
}

inline const char* text_of(change_kind kind) {
  switch (kind) {
    case change_kind::node_waiting: return "node_waiting";
    case change_kind::node_lost: return "node_lost";
    case change_kind::worker_failed: return "worker_failed";
  }
  return "";
}

inline report_demand read_demand(const json_fields& fields) {
  const std::string demand = fields.text("demand");
  for (std::size_t at = 0; at < report_demand_names.size(); ++at) {
    if (demand == report_demand_names[at]) return static_cast<report_demand>(at);
  }
  fields.refuse(fmt::format("has an unknown \"demand\": '{:.40}'", demand));
}

inline std::string read_report(const json_fields& fields) {
  return fields.text("text", limits::node_report_bytes);
}

inline change_kind read_change_kind(const json_fields& fields) {
  const std::string kind = fields.text("change");
  for (const change_kind candidate :
       {change_kind::node_waiting, change_kind::node_lost, change_kind::worker_failed}) {
    if (kind == text_of(candidate)) return candidate;
  }
  fields.refuse(fmt::format("has an unknown \"change\": '{:.40}'", kind));
}

/// 32 hexadecimal digits.
inline std::string text_of(const node_number& number) {
  return fmt::format("{:016x}{:016x}", number.high, number.low);
}

inline node_number read_node_number(const json_fields& fields) {
  constexpr std::size_t half = 16;
  const std::string digits = fields.text("number");
  const auto read = [&](std::size_t begin) {
    std::uint64_t value = 0;
    const char* end = digits.data() + begin + half;
    const auto [stop, failure] = std::from_chars(digits.data() + begin, end, value, 16);
    if (failure != std::errc() || stop != end) {
      fields.refuse("has a \"number\" that is not made of 32 hexadecimal digits");
    }
    return value;
  };
  if (digits.size() != 2 * half) {
    fields.refuse("has a \"number\" that is not made of 32 hexadecimal digits");
  }
  return {read(0), read(half)};
}

/// Adds for how long a node may be silent, or without its connection.
inline json_object& add_patience(json_object& object, const rendezvous_settings& settings) {
  return object.add("keep_alive_ms", whole_milliseconds(settings.keep_alive_interval))
      .add("keep_alive_attempts", settings.keep_alive_max_attempt)
      .add("grace_ms", whole_milliseconds(settings.reconnect_grace));
}

/// Adds who a node is, and of which job.
template <class Message>
json_object& add_node(json_object& object, const Message& message) {
  return object.add("run_id", message.run_id)
      .add("host", message.node.host)
      .add("pid", message.node.pid)
      .add("local_id", message.node.local_id)
      .add("number", text_of(message.node.number));
}

inline void add_excluded(json_object& object, const std::vector<exclusion>& excluded) {
  if (!excluded.empty()) object.add("excluded", text_of(excluded));
}

/// Says the last round that a node was in; without one, nothing.
inline void add_former(json_object& object, const rendezvous_messages::hello& message) {
  if (!message.former) return;
  const rendezvous_messages::former_round& former = *message.former;
  object.add("last_term", former.term)
      .add("last_round", former.round)
      .add("rank", former.rank)
      .add("world", former.world)
      .add("host_rank", former.host_rank)
      .add("restarts", former.restarts)
      .add("until_end", former.until_end)
      .add("server", former.server);
}

/// Writes a message as JSON.
struct message_writer {
  std::string operator()(const rendezvous_messages::hello& message) const {
    const rendezvous_settings& settings = message.settings;
    json_object object = of_kind("hello");
    object.add("version", message.version);
    add_node(object, message)
        .add("min_nodes", settings.min_nodes)
        .add("max_nodes", settings.max_nodes)
        .add("last_call_ms", whole_milliseconds(settings.last_call_timeout))
        .add("hosts", message.hosts)
        .add("most_term", message.most_term);
    add_former(object, message);
    if (message.has_reports) object.add("reports", true);
    if (message.has_witness) object.add("witness", true);
    if (!message.name.empty()) object.add("name", message.name);
    add_excluded(object, message.excluded);
    if (!settings.node_counts.empty())
      object.add("node_counts", node_counts_text(settings.node_counts));
    if (settings.scale_up_delay > duration::zero()) {
      object.add("scale_up_ms", whole_milliseconds(settings.scale_up_delay));
    }
    return add_patience(object, settings).text();
  }
  std::string operator()(const rendezvous_messages::witness& message) const {
    json_object object = of_kind("witness");
    return add_node(object, message).text();
  }
  std::string operator()(const rendezvous_messages::join& message) const {
    json_object object = of_kind("join");
    object.add("after", message.after).add("timeout_ms", whole_milliseconds(message.timeout));
    if (!message.addresses.empty()) object.add("addresses", message.addresses);
    return add_master(object, message.offer).text();
  }
  std::string operator()(const rendezvous_messages::keep_alive&) const {
    return of_kind("keep_alive").text();
  }
  std::string operator()(const rendezvous_messages::failed& message) const {
    const std::string what = beginning_of(message.what, limits::failure_text_bytes);
    return of_kind("failed").add("round", message.round).add("what", what).text();
  }
  std::string operator()(const rendezvous_messages::finished& message) const {
    return of_kind("finished").add("round", message.round).text();
  }
  std::string operator()(const rendezvous_messages::pause& message) const {
    return of_kind("pause").add("why", message.why).add("saves_first", message.saves_first).text();
  }
  std::string operator()(const rendezvous_messages::resume&) const {
    return of_kind("resume").text();
  }
  std::string operator()(const rendezvous_messages::leave& message) const {
    json_object object = of_kind("leave");
    if (message.keep_out > duration::zero()) {
      object.add("keep_out_ms", whole_milliseconds(message.keep_out)).add("why", message.why);
    }
    return object.text();
  }
  std::string operator()(const rendezvous_messages::close_job& message) const {
    const std::string why = beginning_of(message.why, limits::ending_text_bytes);
    return of_kind("close").add("end", text_of(message.end)).add("why", why).text();
  }
  std::string operator()(const rendezvous_messages::ask_status&) const {
    return of_kind("ask_status").text();
  }
  std::string operator()(const rendezvous_messages::report& message) const {
    return of_kind("report").add("text", message.text).text();
  }

  std::string operator()(const rendezvous_messages::welcome& message) const {
    json_object object = of_kind("welcome");
    object.add("resumed", message.resumed).add("term", message.term).add("pauses", message.pauses);
    return add_patience(object, message.settings).text();
  }
  std::string operator()(const rendezvous_messages::refused& message) const {
    return of_kind("refused").add("timeout", message.timeout).add("why", message.why).text();
  }
  std::string operator()(const rendezvous_messages::peers& message) const {
    return of_kind("peers").add("round", message.round).add("addresses", message.addresses).text();
  }
  std::string operator()(const rendezvous_messages::placed& message) const {
    json_object object = of_kind("placed");
    object.add("round", message.round)
        .add("rank", message.rank)
        .add("world", message.world)
        .add("restarts", message.restarts)
        .add("term", message.term)
        .add("host_rank", message.host_rank);
    add_excluded(object, message.excluded);
    return add_master(object, message.master).text();
  }
  std::string operator()(const rendezvous_messages::on_hold& message) const {
    return of_kind("on_hold").add("why", message.why).text();
  }
  std::string operator()(const rendezvous_messages::changed& message) const {
    json_object object = of_kind("changed");
    object.add("round", message.round)
        .add("change", text_of(message.what.kind))
        .add("restarts", message.what.restarts)
        .add("what", message.what.what);
    if (message.what.is_pause) object.add("saves_first", message.what.saves_first);
    return object.text();
  }
  std::string operator()(const rendezvous_messages::all_finished& message) const {
    return of_kind("all_finished").add("round", message.round).text();
  }
  std::string operator()(const rendezvous_messages::closed& message) const {
    return of_kind("closed").add("end", text_of(message.end)).add("why", message.why).text();
  }
  std::string operator()(const rendezvous_messages::alive&) const {
    return of_kind("alive").text();
  }
  std::string operator()(const rendezvous_messages::resigned&) const {
    return of_kind("resigned").text();
  }
  std::string operator()(const rendezvous_messages::status& message) const {
    return of_kind("status")
        .add("waiting", message.waiting)
        .add("closed", message.is_closed)
        .text();
  }
  std::string operator()(const rendezvous_messages::report_wanted& message) const {
    const auto demand = static_cast<std::size_t>(message.demand);
    return of_kind("report_wanted").add("demand", report_demand_names[demand]).text();
  }
};

inline void read_patience(const json_fields& fields, rendezvous_settings& settings) {
  settings.keep_alive_interval = milliseconds(fields, "keep_alive_ms");
  // One that is late must not be the loss of a node.
  settings.keep_alive_max_attempt = fields.small_number("keep_alive_attempts", 2, 1'000'000);
  settings.reconnect_grace = milliseconds(fields, "grace_ms");
}

/// 0 if the other side is of an earlier release, which tells none.
inline std::int64_t read_term(const json_fields& fields, const char* name) {
  return fields.has(name) ? fields.number(name, 0, last_term) : 0;
}

inline rendezvous_messages::former_round read_former(const json_fields& fields) {
  rendezvous_messages::former_round former;
  former.term = read_term(fields, "last_term");
  former.round = fields.number("last_round", 0, last_round);
  former.world = fields.small_number("world", 1, limits::nodes);
  former.rank = fields.small_number("rank", 0, former.world - 1);
  former.host_rank = fields.small_number("host_rank", -1, former.world - 1);
  former.restarts = fields.small_number("restarts", 0, limits::job_restarts);
  former.until_end = fields.flag("until_end");
  former.server = fields.text("server", limits::numeric_address_bytes);
  return former;
}

inline std::string read_run_id(const json_fields& fields) {
  return fields.text("run_id", limits::run_id_bytes);
}

/// All of it but the number.
inline node_id read_node(const json_fields& fields) {
  node_id node;
  node.host = fields.text("host", limits::host_name_bytes);
  node.pid = fields.number("pid", 0, std::numeric_limits<std::int64_t>::max());
  node.local_id = fields.number("local_id", 0, std::numeric_limits<std::int64_t>::max());
  return node;
}

inline rendezvous_messages::witness read_witness(const json_fields& fields) {
  rendezvous_messages::witness message{read_run_id(fields), read_node(fields)};
  message.node.number = read_node_number(fields);
  return message;
}

/// The numbers of nodes that a round may have; empty if the message names none.
inline std::vector<int> read_node_counts(const json_fields& fields,
                                         const rendezvous_settings& settings) {
  if (!fields.has("node_counts")) return {};
  std::vector<int> counts;
  try {
    counts = parse_node_counts(fields.text("node_counts"));
  } catch (const error& refused) {
    fields.refuse(fmt::format("has \"node_counts\" that are none: {}", refused.what()));
  }
  if (counts.front() != settings.min_nodes || counts.back() != settings.max_nodes) {
    fields.refuse("has \"node_counts\" that do not go from \"min_nodes\" to \"max_nodes\"");
  }
  return counts;
}

inline std::vector<exclusion> read_excluded(const json_fields& fields) {
  if (!fields.has("excluded")) return {};
  return read_exclusions(fields, "excluded");
}

inline std::string read_node_name(const json_fields& fields) {
  if (!fields.has("name")) return {};
  std::string name = fields.text("name");
  if (is_node_name(name)) return name;
  fields.refuse(fmt::format("has a \"name\" that is not made of 1 to {} letters, digits and signs",
                            limits::node_name_bytes));
}

/// A sentence for people, of which a node of an earlier release may send too much.
inline std::string read_reason(const json_fields& fields, const char* name,
                               std::size_t most_bytes) {
  return beginning_of(fields.text(name), most_bytes);
}

inline rendezvous_messages::leave read_leave(const json_fields& fields) {
  rendezvous_messages::leave message;
  if (!fields.has("keep_out_ms")) return message;
  const std::chrono::milliseconds most = limits::exclusion_time;
  message.keep_out = std::chrono::milliseconds(fields.number("keep_out_ms", 1, most.count()));
  message.why = short_line(fields.text("why"), limits::exclusion_reason_bytes);
  return message;
}

inline rendezvous_messages::hello read_hello(const json_fields& fields) {
  constexpr int most = std::numeric_limits<int>::max();
  rendezvous_messages::hello message;
  message.version = fields.small_number("version", 1, most);
  message.run_id = read_run_id(fields);
  message.node = read_node(fields);
  // One of another version is refused by the coordinator, whose sentence names both.
  if (message.version == message.current_version) message.node.number = read_node_number(fields);
  rendezvous_settings& settings = message.settings;
  settings.min_nodes = fields.small_number("min_nodes", 1, limits::nodes);
  settings.max_nodes = fields.small_number("max_nodes", settings.min_nodes, limits::nodes);
  settings.last_call_timeout = milliseconds(fields, "last_call_ms");
  settings.node_counts = read_node_counts(fields, settings);
  if (fields.has("scale_up_ms")) settings.scale_up_delay = milliseconds(fields, "scale_up_ms");
  message.hosts = fields.has("hosts") && fields.flag("hosts");
  message.has_reports = fields.has("reports") && fields.flag("reports");
  message.has_witness = fields.has("witness") && fields.flag("witness");
  message.most_term = read_term(fields, "most_term");
  if (fields.has("last_round")) message.former = read_former(fields);
  message.name = read_node_name(fields);
  message.excluded = read_excluded(fields);
  read_patience(fields, settings);
  return message;
}

inline rendezvous_messages::join read_join(const json_fields& fields) {
  rendezvous_messages::join message;
  message.after = fields.number("after", -1, last_round);
  message.timeout = milliseconds(fields, "timeout_ms");
  message.offer = read_master(fields);
  if (fields.has("addresses")) {
    message.addresses = fields.text("addresses", limits::node_addresses_bytes);
  }
  try {
    address_filter().add_list(message.addresses, ' ');
  } catch (const error& refused) {
    fields.refuse(fmt::format("has \"addresses\" that are none: {}", refused.what()));
  }
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
  const detail::json_fields fields = detail::message_fields(text);
  const std::string kind = fields.text("kind");
  if (kind == "hello") return detail::read_hello(fields);
  if (kind == "witness") return detail::read_witness(fields);
  if (kind == "join") return detail::read_join(fields);
  if (kind == "keep_alive") return messages::keep_alive{};
  if (kind == "failed") {
    return messages::failed{fields.number("round", 0, detail::last_round),
                            detail::read_reason(fields, "what", limits::failure_text_bytes)};
  }
  if (kind == "finished") return messages::finished{fields.number("round", 0, detail::last_round)};
  if (kind == "pause") {
    return messages::pause{fields.text("why", limits::pause_text_bytes),
                           fields.flag("saves_first")};
  }
  if (kind == "resume") return messages::resume{};
  if (kind == "leave") return detail::read_leave(fields);
  if (kind == "close") {
    return messages::close_job{detail::read_job_end(fields),
                               detail::read_reason(fields, "why", limits::ending_text_bytes)};
  }
  if (kind == "ask_status") return messages::ask_status{};
  if (kind == "report") return messages::report{detail::read_report(fields)};
  fields.refuse(fmt::format("is of an unknown kind: '{:.40}'", kind));
}

ELASTIC_DECL rendezvous_answer parse_rendezvous_answer(std::string_view text) {
  namespace messages = rendezvous_messages;
  const detail::json_fields fields = detail::message_fields(text);
  const std::string kind = fields.text("kind");
  if (kind == "welcome") {
    messages::welcome message;
    message.resumed = fields.flag("resumed");
    message.term = detail::read_term(fields, "term");
    message.pauses = fields.has("pauses") && fields.flag("pauses");
    detail::read_patience(fields, message.settings);
    return message;
  }
  if (kind == "refused") return messages::refused{fields.flag("timeout"), fields.text("why")};
  if (kind == "peers") {
    return messages::peers{fields.number("round", 0, detail::last_round), fields.text("addresses")};
  }
  if (kind == "placed") {
    messages::placed message;
    message.round = fields.number("round", 0, detail::last_round);
    message.world = fields.small_number("world", 1, limits::nodes);
    message.rank = fields.small_number("rank", 0, message.world - 1);
    message.restarts = fields.small_number("restarts", 0, limits::job_restarts);
    message.master = detail::read_master(fields);
    message.term = detail::read_term(fields, "term");
    if (fields.has("host_rank")) {
      message.host_rank = fields.small_number("host_rank", -1, message.world - 1);
    }
    message.excluded = detail::read_excluded(fields);
    return message;
  }
  if (kind == "on_hold") return messages::on_hold{fields.text("why")};
  if (kind == "changed") {
    messages::changed message;
    message.round = fields.number("round", 0, detail::last_round);
    message.what.kind = detail::read_change_kind(fields);
    message.what.restarts = fields.small_number("restarts", 0, limits::job_restarts);
    message.what.what = fields.text("what");
    message.what.is_pause = fields.has("saves_first");
    message.what.saves_first = message.what.is_pause && fields.flag("saves_first");
    return message;
  }
  if (kind == "all_finished") {
    return messages::all_finished{fields.number("round", 0, detail::last_round)};
  }
  if (kind == "closed") return messages::closed{detail::read_job_end(fields), fields.text("why")};
  if (kind == "alive") return messages::alive{};
  if (kind == "resigned") return messages::resigned{};
  if (kind == "status") {
    return messages::status{fields.small_number("waiting", 0, limits::nodes),
                            fields.flag("closed")};
  }
  if (kind == "report_wanted") return messages::report_wanted{detail::read_demand(fields)};
  fields.refuse(fmt::format("is of an unknown kind: '{:.40}'", kind));
}

}  // namespace elastic
