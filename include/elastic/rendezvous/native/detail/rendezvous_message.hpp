// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/native/detail/exclusion_list.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elastic::detail {

/// What nodes and the server of a rendezvous tell each other: one JSON object a message, whose
/// "kind" is the name of the struct, or "close". docs/design/rendezvous.md has the conversation.
namespace rendezvous_messages {

// ---- from a node ----------------------------------------------------------------------------

/// The last round that a node was placed in, for a server that does not know it.
struct former_round {
  /// That of its server, when the round was complete; 0: one that told none.
  std::int64_t term = 0;
  std::int64_t round = 0;
  int rank = 0;
  int world = 1;
  /// The rank of the node that hosted the server; -1: it was not in the round, or is not known.
  int host_rank = -1;
  /// How often workers have failed, as far as the node heard.
  int restarts = 0;
  /// It was in the round until the connection to that server ended: so no round followed.
  bool until_end = false;
  /// The address at which it reached that server, numeric.
  std::string server = {};
};

/// The first word of a connection, also of one that takes up a broken one.
struct hello {
  static constexpr int current_version = 3;
  int version = current_version;
  std::string run_id;
  node_id node;
  rendezvous_settings settings;
  /// Whether the server is this node's own, and ends with it.
  bool hosts = false;
  /// The greatest term of a server that has welcomed this node; 0: none.
  std::int64_t most_term = 0;
  std::optional<former_round> former = {};
  /// It can tell the server of itself, if that wants to hear it.
  bool has_reports = false;
  /// It opens a second connection when it is welcomed, see `witness`. Nodes of earlier releases do
  /// not say so.
  bool has_witness = false;
  /// By which it is known also after a restart of its agent; empty: it is of an earlier release,
  /// and knows no `on_hold`.
  std::string name = {};
  /// Whom that server kept out, as far as the node heard.
  std::vector<exclusion> excluded = {};
};

/// The only word of a second connection of a node that the server has welcomed: that it ends
/// together with the first shows that the node is gone, and not the way to it.
struct witness {
  std::string run_id;
  node_id node;
};

/// Leaves round `after`, if the node is in it, for the next.
struct join {
  /// The last round that this node was in; -1: none.
  std::int64_t after = -1;
  duration timeout{};
  /// Where its workers would find each other if it became the node of rank 0.
  rendezvous_round::master_endpoint offer;
  /// Its own addresses, numeric, with a blank between two; empty if the job has no secret.
  std::string addresses = {};
};

struct keep_alive {};

/// Workers of this node failed.
struct failed {
  std::int64_t round = 0;
  std::string what;
};

/// All workers of this node succeeded.
struct finished {
  std::int64_t round = 0;
};

/// The round, if the node is in one, ends, and none begins until the node says `resume` or leaves.
struct pause {
  std::string why;
  /// See rendezvous_change.
  bool saves_first = false;
};

struct resume {};

struct leave {
  /// Not 0: the node was called bad, and is not to come back before.
  duration keep_out{};
  std::string why = {};
};

/// The job has ended, for all nodes.
struct close_job {
  rendezvous_handler::job_end end = rendezvous_handler::job_end::failed;
  std::string why;
};

/// What the node tells of itself for those who look at the job.
struct report {
  std::string text;
};

// ---- from the server ------------------------------------------------------------------------

struct welcome {
  /// Whether the server still knows the node, with its place.
  bool resumed = false;
  /// The keep-alives and grace of all nodes of the job: those of the server's own agent, or of the
  /// first node if the server has none.
  rendezvous_settings settings;
  /// Which of the servers that the job had, one after the other: each has a greater one. 0: a
  /// server that does not take up the job of a former one.
  std::int64_t term = 0;
};

struct refused {
  /// The join timeout; otherwise something that waiting does not mend.
  bool timeout = false;
  std::string why;
};

/// Addresses of the nodes of a round, numeric, with a blank between two: for the node that serves
/// the workers' store, in as many of these as it takes, before its `placed`.
struct peers {
  std::int64_t round = 0;
  std::string addresses;
};

struct placed {
  std::int64_t round = 0;
  int rank = 0;
  int world = 1;
  rendezvous_round::master_endpoint master;
  /// How often workers failed so far.
  int restarts = 0;
  std::int64_t term = 0;
  /// The rank of the node that hosts the server; -1: it is not in the round.
  int host_rank = -1;
  /// The nodes that are excluded from the job.
  std::vector<exclusion> excluded = {};
};

/// Why a node that joins has to wait, however many nodes there are.
struct on_hold {
  std::string why;
};

/// The round `round` is to end.
struct changed {
  std::int64_t round = 0;
  rendezvous_change what;
  /// worker_failed: the rank of the node whose failure is charged; -1: the other kinds.
  int failed_rank = -1;
};

/// The workers of every node have succeeded.
struct all_finished {
  std::int64_t round = 0;
};

struct closed {
  rendezvous_handler::job_end end = rendezvous_handler::job_end::failed;
  std::string why;
};

struct alive {};

/// The server no longer leads the job, and hangs up next. A successor that knows this node
/// begins no round before that has joined, or has been silent for too long.
struct resigned {};

/// How much the server wants to hear of the node from now on; before the first one, nothing.
struct report_wanted {
  report_demand demand = report_demand::nothing;
};

}  // namespace rendezvous_messages

/// A message of a node to the server of its rendezvous.
using rendezvous_request = std::variant<
    rendezvous_messages::hello, rendezvous_messages::witness, rendezvous_messages::join,
    rendezvous_messages::keep_alive, rendezvous_messages::failed, rendezvous_messages::finished,
    rendezvous_messages::pause, rendezvous_messages::resume, rendezvous_messages::leave,
    rendezvous_messages::close_job, rendezvous_messages::report>;

/// A message of the server of a rendezvous to a node.
using rendezvous_answer = std::variant<
    rendezvous_messages::welcome, rendezvous_messages::refused, rendezvous_messages::peers,
    rendezvous_messages::placed, rendezvous_messages::on_hold, rendezvous_messages::changed,
    rendezvous_messages::all_finished, rendezvous_messages::closed, rendezvous_messages::alive,
    rendezvous_messages::resigned, rendezvous_messages::report_wanted>;

/// The message as one JSON object.
ELASTIC_DECL std::string to_text(const rendezvous_request& message);
ELASTIC_DECL std::string to_text(const rendezvous_answer& message);

/// Reads what a node says. Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL rendezvous_request parse_rendezvous_request(std::string_view text);

/// Reads what the server says. Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL rendezvous_answer parse_rendezvous_answer(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/detail/impl/rendezvous_message.ipp>
#endif
