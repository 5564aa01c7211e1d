// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/candidate_message.hpp>

#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/message_rows.hpp>

#include <chrono>
#include <limits>

namespace elastic::detail {

/// A term, a sequence or a stamp.
inline void sequence_row(record_rows& rows, const char* name, std::int64_t& count) {
  rows.number(name, count, 0, std::numeric_limits<std::int64_t>::max() / 2);
}

inline void index_row(record_rows& rows, int& index, int least = 0) {
  rows.number("index", index, least, limits::rendezvous_candidates - 1);
}

/// The job of a message, and its endpoints.
template <class Message>
void job_rows(record_rows& rows, Message& message) {
  rows.text("run_id", message.run_id, limits::run_id_bytes);
  rows.text("list", message.list, limits::first_message_bytes);
}

inline void describe(candidate_messages::peer& message, record_rows& rows) {
  index_row(rows, message.index);
  job_rows(rows, message);
  number_row(rows, "node", message.node);
  patience_rows(rows, message.settings);
}

inline void describe(candidate_messages::seek& message, record_rows& rows) {
  job_rows(rows, message);
  // Terms continue from this one, so a node may not report one above this limit.
  rows.number("most_term", message.highest_term, 0, limits::rendezvous_told_number / 2);
  index_row(rows, message.index, -1);
  if (message.index >= 0) number_row(rows, "node", message.node);
}

inline void describe(candidate_messages::vote& message, record_rows& rows) {
  sequence_row(rows, "term", message.term);
  rows.flag("try", message.is_prevote);
  rows.flag("fresh", message.starts_job);
}

inline void describe(candidate_messages::write& message, record_rows& rows) {
  sequence_row(rows, "term", message.term);
  sequence_row(rows, "stamp", message.stamp);
  describe(message.value, rows);
}

inline void describe(candidate_messages::resign& message, record_rows& rows) {
  sequence_row(rows, "term", message.term);
  rows.flag("done", message.is_done);
}

inline void describe(candidate_messages::retire& message, record_rows& rows) {
  sequence_row(rows, "term", message.term);
  sequence_row(rows, "stamp", message.stamp);
  // The time is rounded down, so that the write does not seem older than it is.
  duration since_then = std::chrono::floor<std::chrono::milliseconds>(message.since_then);
  if (rows.milliseconds("since_ms", since_then)) message.since_then = since_then;
}

inline void describe(candidate_messages::rejected& message, record_rows& rows) {
  rows.sentence("why", message.why, limits::rendezvous_sentence_bytes);
}

inline void describe(candidate_messages::present& message, record_rows& rows) {
  index_row(rows, message.index);
  number_row(rows, "node", message.node);
  rows.text("network", message.network, limits::network_identity_bytes);
}

inline void describe(candidate_messages::wait& message, record_rows& rows) {
  index_row(rows, message.index);
}

inline void describe(candidate_messages::leads& message, record_rows& rows) {
  sequence_row(rows, "term", message.term);
  index_row(rows, message.index);
}

inline void describe(candidate_messages::grant& message, record_rows& rows) {
  sequence_row(rows, "term", message.term);
  rows.flag("try", message.is_prevote);
  rows.flag("yes", message.is_granted);
  rows.flag("blank", message.is_blank);
  rows.flag("restarted", message.has_restarted);
  sequence_row(rows, "own_term", message.own_term);
  bool has_register = message.value.has_value();
  if (rows.flag("has_register", has_register) && has_register) message.value.emplace();
  if (message.value) describe(*message.value, rows);
}

inline void describe(candidate_messages::ack& message, record_rows& rows) {
  sequence_row(rows, "term", message.term);
  rows.flag("taken", message.is_taken);
  sequence_row(rows, "sequence", message.sequence);
  sequence_row(rows, "stamp", message.stamp);
  sequence_row(rows, "own_term", message.own_term);
}

inline constexpr kind_names<candidate_request> candidate_request_kinds{"peer",  "seek",   "vote",
                                                                       "write", "resign", "retire"};
inline constexpr kind_names<candidate_answer> candidate_answer_kinds{
    "rejected", "present", "accepted", "wait", "leads", "grant", "ack"};

inline constexpr std::string_view candidate_subject = "a message between candidates";

ELASTIC_DECL std::string candidate_text(const candidate_request& message) {
  return message_text(message, candidate_request_kinds);
}

ELASTIC_DECL std::string candidate_text(const candidate_answer& message) {
  return message_text(message, candidate_answer_kinds);
}

ELASTIC_DECL std::optional<candidate_request> parse_candidate_request(std::string_view text) {
  const json_fields fields(candidate_subject, text, limits::rendezvous_register_bytes);
  const std::string_view kind = fields.text("kind");
  if (kind == "hello" || kind == "witness") return std::nullopt;
  return read_message<candidate_request>(fields, candidate_request_kinds);
}

ELASTIC_DECL candidate_answer parse_candidate_answer(std::string_view text) {
  const json_fields fields(candidate_subject, text, limits::rendezvous_register_bytes);
  return read_message<candidate_answer>(fields, candidate_answer_kinds);
}

}  // namespace elastic::detail
