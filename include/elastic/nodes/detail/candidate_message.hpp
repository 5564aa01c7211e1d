// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/round_register.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace elastic::detail {

/// The messages between the servers of one job, its candidates, and between a candidate and a node
/// that looks for the leader. Each message is one JSON object whose "kind" is the name of the
/// struct.
namespace candidate_messages {

// ---- from the side that connects ------------------------------------------------------------

/// The first message of a candidate.
struct peer {
  int index = 0;
  std::string run_id;
  /// All endpoints, in their order.
  std::string list;
  /// The number of its agent, `node_id::random_number::high`.
  std::uint64_t node = 0;
  /// The keep-alive settings and the grace, which determine how long leases last.
  rendezvous_settings settings;
};

/// The first message of a node, which it repeats from time to time: which candidate leads?
struct seek {
  std::string run_id;
  std::string list;
  /// The greatest term of any leader that the node has met; 0: none.
  std::int64_t highest_term = 0;
  /// The candidate of the node's agent, and that agent's number; -1: it has none.
  int index = -1;
  std::uint64_t node = 0;
};

struct vote {
  std::int64_t term = 0;
  /// The sender only asks whether the vote would be granted. The answer binds neither side.
  bool is_prevote = false;
  /// All candidates were blank: the job begins.
  bool starts_job = false;
};

/// The leader's register. It also serves as a keep-alive.
struct write {
  std::int64_t term = 0;
  /// The sender's own time, which the answer returns.
  std::int64_t stamp = 0;
  round_register value;
};

/// The leader has stepped down, or lost its election.
struct resign {
  std::int64_t term = 0;
  /// All nodes have been told that the job is over.
  bool is_done = false;
};

/// A message to the leader: the voter leaves in order and will not vote any more. Another agent in
/// its place has no knowledge of its votes, and does not vote before the silence is over.
struct retire {
  std::int64_t term = 0;
  /// The stamp of the leader's last `write` that the voter accepted, and the time since then.
  std::int64_t stamp = 0;
  duration since_then{};
};

// ---- from the side that accepts -------------------------------------------------------------

/// The list, the run id or a setting differs, or the sender is not the agent that it claims to be.
struct rejected {
  std::string why;
};

/// The first answer to `peer`: the agent that serves here.
struct present {
  int index = 0;
  std::uint64_t node = 0;
  /// See network_identity.
  std::string network;
};

/// The second answer to `peer`: the agent that connected was met at its own address, and may send
/// requests now.
struct accepted {};

/// This candidate does not lead.
struct wait {
  int index = 0;
};

/// This candidate leads. The node sends its `hello` on this connection.
struct leads {
  std::int64_t term = 0;
  int index = 0;
};

struct grant {
  std::int64_t term = 0;
  bool is_prevote = false;
  bool is_granted = false;
  /// No leader has written to the voter yet.
  bool is_blank = false;
  /// The voter knows that an earlier agent served in its place and did not end in order.
  bool has_restarted = false;
  /// The greatest term that the voter knows.
  std::int64_t own_term = 0;
  /// The voter's register, if it grants its vote and is not blank.
  std::optional<round_register> value;
};

struct ack {
  std::int64_t term = 0;
  bool is_taken = false;
  std::int64_t sequence = 0;
  std::int64_t stamp = 0;
  std::int64_t own_term = 0;
};

}  // namespace candidate_messages

using candidate_request =
    std::variant<candidate_messages::peer, candidate_messages::seek, candidate_messages::vote,
                 candidate_messages::write, candidate_messages::resign, candidate_messages::retire>;

using candidate_answer =
    std::variant<candidate_messages::rejected, candidate_messages::present,
                 candidate_messages::accepted, candidate_messages::wait, candidate_messages::leads,
                 candidate_messages::grant, candidate_messages::ack>;

/// The message as one JSON object.
ELASTIC_DECL std::string candidate_text(const candidate_request& message);
ELASTIC_DECL std::string candidate_text(const candidate_answer& message);

/// Parses a message from the connecting side. Result: empty for a node's `hello` or `witness`,
/// which belong to the rendezvous.
/// Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL std::optional<candidate_request> parse_candidate_request(std::string_view text);

/// Parses an answer. Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL candidate_answer parse_candidate_answer(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/candidate_message.ipp>
#endif
