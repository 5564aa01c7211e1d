// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <elastic/base/detail/record.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/address_filter.hpp>
#include <elastic/nodes/detail/message_rows.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr std::array<std::string_view, 3> change_names{"node_waiting", "node_lost",
                                                              "worker_failed"};

inline void round_row(record_rows& rows, std::int64_t& round, const char* name = "round",
                      std::int64_t least = 0) {
  rows.number(name, round, least, std::numeric_limits<std::int64_t>::max() - 1);
}

/// A server continues from the greatest term that it hears.
inline void term_row(record_rows& rows, const char* name, std::int64_t& term,
                     std::int64_t least = 1) {
  rows.number(name, term, least, std::numeric_limits<std::int64_t>::max() / 2);
}

/// 32 hexadecimal digits.
inline void node_number_row(record_rows& rows, node_id::random_number& number) {
  std::vector<std::uint64_t> halves{number.high, number.low};
  number_row(rows, "number", halves, 2);
  if (halves.size() != 2) rows.refuse("has \"number\" that is not 32 hexadecimal digits");
  if (rows.reads()) number = {halves[0], halves[1]};
}

inline void node_rows(record_rows& rows, std::string& run_id, node_id& node) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  rows.text("run_id", run_id, limits::run_id_bytes);
  rows.text("host", node.host, limits::host_name_bytes);
  rows.number("pid", node.pid, 0, most);
  rows.number("local_id", node.local_id, 0, most);
}

inline void master_rows(record_rows& rows, rendezvous_round::master_endpoint& master) {
  rows.text("address", master.address, limits::host_name_bytes);
  rows.number("port", master.port, 0, std::numeric_limits<std::uint16_t>::max());
  rows.flag("served", master.served_by_agent);
}

inline void node_counts_row(record_rows& rows, std::vector<int>& counts) {
  constexpr std::size_t most_digits = 6;
  constexpr std::size_t most_bytes = limits::node_counts * (most_digits + 1);
  std::string text = counts.empty() ? std::string() : node_counts_text(counts);
  if (!rows.text("node_counts", text, most_bytes, presence::sparse)) return;
  try {
    counts = parse_node_counts(text);
  } catch (const error& refusal) {
    rows.refuse(fmt::format("has invalid \"node_counts\": {}", refusal.what()));
  }
}

/// Checks the ranks of a round that has a server.
template <class Round>
void check_ranks(const Round& round, const record_rows& rows) {
  if (round.rank < round.world && round.host_rank < round.world) return;
  rows.refuse(fmt::format("has \"rank\" {} and \"host_rank\" {}; both must be below \"world\", {}",
                          round.rank, round.host_rank, round.world));
}

// ---- from a node ----------------------------------------------------------------------------

inline void describe(rendezvous_messages::former_round& former, record_rows& rows) {
  term_row(rows, "last_term", former.term);
  round_row(rows, former.round, "last_round");
  rows.number("rank", former.rank, 0, limits::nodes - 1);
  rows.number("world", former.world, 1, limits::nodes);
  rows.number("host_rank", former.host_rank, -1, limits::nodes - 1);
  rows.number("restarts", former.restarts, 0, limits::job_restarts);
  rows.flag("until_end", former.until_end);
  rows.text("server", former.server, limits::numeric_address_bytes);
}

inline void describe(rendezvous_messages::hello& message, record_rows& rows) {
  rendezvous_settings& settings = message.settings;
  rows.number("version", message.version, 1, std::numeric_limits<int>::max());
  node_rows(rows, message.run_id, message.node);
  // The coordinator refuses any other version, with a message that names both.
  if (rows.reads() && message.version != message.current_version) return;
  node_number_row(rows, message.node.number);
  rows.number("min_nodes", settings.min_nodes, 1, limits::nodes);
  rows.number("max_nodes", settings.max_nodes, 1, limits::nodes);
  rows.milliseconds("last_call_ms", settings.last_call_timeout);
  rows.flag("hosts", message.hosts);
  term_row(rows, "most_term", message.highest_term, 0);
  if (rows.has_group("last_round", message.former.has_value())) {
    if (rows.reads()) message.former.emplace();
    describe(*message.former, rows);
  }
  rows.flag("reports", message.has_reports, presence::sparse);
  const bool is_read = rows.text("name", message.name, limits::node_name_bytes);
  if (is_read && !is_node_name(message.name)) {
    rows.refuse(fmt::format("has \"name\" that is not 1 to {} letters, digits and signs",
                            limits::node_name_bytes));
  }
  exclusion_row(rows, message.excluded);
  node_counts_row(rows, settings.node_counts);
  rows.milliseconds("scale_up_ms", settings.scale_up_delay, presence::sparse);
  patience_rows(rows, settings);
  rows.text("fingerprint", message.fingerprint, message.most_fingerprint, presence::sparse);
}

inline void validate(const rendezvous_messages::hello& message, const record_rows& rows) {
  const int least = message.settings.min_nodes;
  const int most = message.settings.max_nodes;
  const std::vector<int>& counts = message.settings.node_counts;
  if (most < least) {
    rows.refuse(fmt::format("has \"max_nodes\" {}, less than \"min_nodes\", {}", most, least));
  }
  if (!counts.empty() && (counts.front() != least || counts.back() != most)) {
    rows.refuse(
        fmt::format("has \"node_counts\" from {} to {}, not from \"min_nodes\", {}, to "
                    "\"max_nodes\", {}",
                    counts.front(), counts.back(), least, most));
  }
  if (message.former) check_ranks(*message.former, rows);
}

inline void describe(rendezvous_messages::witness& message, record_rows& rows) {
  node_rows(rows, message.run_id, message.node);
  node_number_row(rows, message.node.number);
}

inline void describe(rendezvous_messages::join& message, record_rows& rows) {
  round_row(rows, message.after, "after", -1);
  rows.milliseconds("timeout_ms", message.timeout);
  rows.text("addresses", message.addresses, limits::node_addresses_bytes, presence::sparse);
  master_rows(rows, message.offer);
}

inline void validate(const rendezvous_messages::join& message, const record_rows& rows) {
  try {
    address_filter().add_list(message.addresses, ' ');
  } catch (const error& refusal) {
    rows.refuse(fmt::format("has invalid \"addresses\": {}", refusal.what()));
  }
}

inline void describe(rendezvous_messages::failed& message, record_rows& rows) {
  round_row(rows, message.round);
  rows.sentence("what", message.what, limits::failure_text_bytes);
}

inline void describe(rendezvous_messages::finished& message, record_rows& rows) {
  round_row(rows, message.round);
}

inline void describe(rendezvous_messages::pause& message, record_rows& rows) {
  rows.text("why", message.why, limits::pause_text_bytes);
  rows.flag("saves_first", message.saves_first);
}

inline void describe(rendezvous_messages::leave& message, record_rows& rows) {
  using std::chrono::milliseconds;
  if (!rows.has_group("keep_out_ms", message.keep_out > duration::zero())) return;
  std::int64_t time = std::chrono::ceil<milliseconds>(message.keep_out).count();
  rows.number("keep_out_ms", time, 1, milliseconds(limits::exclusion_time).count());
  const bool has_reason = rows.sentence("why", message.why, limits::rendezvous_sentence_bytes);
  if (!has_reason) return;
  message.keep_out = milliseconds(time);
  message.why = short_line(message.why, limits::exclusion_reason_bytes);
}

inline void describe(rendezvous_messages::close_job& message, record_rows& rows) {
  rows.choice("end", message.end, job_end_names);
  rows.sentence("why", message.why, limits::ending_text_bytes);
}

inline void describe(rendezvous_messages::report& message, record_rows& rows) {
  rows.text("text", message.text, limits::node_report_bytes);
}

// ---- from the server ------------------------------------------------------------------------

inline void describe(rendezvous_messages::welcome& message, record_rows& rows) {
  rows.flag("resumed", message.resumed);
  term_row(rows, "term", message.term);
  patience_rows(rows, message.settings);
}

inline void describe(rendezvous_messages::refused& message, record_rows& rows) {
  rows.flag("timeout", message.timeout);
  rows.sentence("why", message.why, limits::rendezvous_sentence_bytes);
}

inline void describe(rendezvous_messages::peers& message, record_rows& rows) {
  round_row(rows, message.round);
  rows.text("addresses", message.addresses, limits::peer_addresses_bytes);
}

inline void describe(rendezvous_messages::placed& message, record_rows& rows) {
  round_row(rows, message.round);
  rows.number("rank", message.rank, 0, limits::nodes - 1);
  rows.number("world", message.world, 1, limits::nodes);
  rows.number("restarts", message.restarts, 0, limits::job_restarts);
  term_row(rows, "term", message.term);
  rows.number("host_rank", message.host_rank, -1, limits::nodes - 1);
  exclusion_row(rows, message.excluded);
  master_rows(rows, message.master);
}

inline void validate(const rendezvous_messages::placed& message, const record_rows& rows) {
  check_ranks(message, rows);
}

inline void describe(rendezvous_messages::on_hold& message, record_rows& rows) {
  rows.sentence("why", message.why, limits::rendezvous_sentence_bytes);
}

inline void describe(rendezvous_messages::changed& message, record_rows& rows) {
  round_row(rows, message.round);
  rows.choice("change", message.what.kind, change_names);
  rows.number("restarts", message.what.restarts, 0, limits::job_restarts);
  rows.sentence("what", message.what.reason, limits::rendezvous_sentence_bytes);
  if (rows.has_group("failed_rank", message.failed_rank >= 0)) {
    rows.number("failed_rank", message.failed_rank, 0, limits::nodes - 1);
  }
  // Only a pause has this field.
  if (!rows.has_group("saves_first", message.what.is_pause)) return;
  if (rows.flag("saves_first", message.what.saves_first)) message.what.is_pause = true;
}

inline void describe(rendezvous_messages::all_finished& message, record_rows& rows) {
  round_row(rows, message.round);
}

inline void describe(rendezvous_messages::closed& message, record_rows& rows) {
  rows.choice("end", message.end, job_end_names);
  rows.sentence("why", message.why, limits::rendezvous_sentence_bytes);
}

inline void describe(rendezvous_messages::report_wanted& message, record_rows& rows) {
  rows.choice("demand", message.demand, report_demand_names);
  rows.text("output", message.output, limits::output_demand_bytes, presence::sparse);
}

inline constexpr kind_names<rendezvous_request> rendezvous_request_kinds{
    "hello", "witness", "join",  "keep_alive", "failed", "finished",
    "pause", "resume",  "leave", "close",      "report"};
inline constexpr kind_names<rendezvous_answer> rendezvous_answer_kinds{
    "welcome",      "refused", "peers", "placed",   "on_hold",      "changed",
    "all_finished", "closed",  "alive", "resigned", "report_wanted"};

inline constexpr std::string_view rendezvous_subject = "a message of the rendezvous";

ELASTIC_DECL std::string to_text(const rendezvous_request& message) {
  return message_text(message, rendezvous_request_kinds);
}

ELASTIC_DECL std::string to_text(const rendezvous_answer& message) {
  return message_text(message, rendezvous_answer_kinds);
}

ELASTIC_DECL rendezvous_request parse_rendezvous_request(std::string_view text) {
  const json_fields fields(rendezvous_subject, text, limits::rendezvous_message_bytes);
  return read_message<rendezvous_request>(fields, rendezvous_request_kinds);
}

ELASTIC_DECL rendezvous_answer parse_rendezvous_answer(std::string_view text) {
  const json_fields fields(rendezvous_subject, text, limits::rendezvous_message_bytes);
  return read_message<rendezvous_answer>(fields, rendezvous_answer_kinds);
}

}  // namespace elastic::detail
