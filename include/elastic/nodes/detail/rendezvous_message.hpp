// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/exclusion_list.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elastic::detail {

/// The messages between nodes and the server of a rendezvous. Each message is one JSON object whose
/// "kind" is the name of the struct, or "close". docs/design/rendezvous.md describes the
/// conversation.
namespace rendezvous_messages {

// ---- from a node ----------------------------------------------------------------------------

/// The last round in which a node was placed, for a server that does not know it.
struct former_round {
  /// The term of its server when the round was complete.
  std::int64_t term = 1;
  std::int64_t round = 0;
  int rank = 0;
  int world = 1;
  /// The rank of the node that hosted the server; -1: it was not in the round, or is unknown.
  int host_rank = -1;
  /// How often workers have failed, as far as the node knows.
  int restarts = 0;
  /// The node was in the round until the connection to that server ended, so no round followed.
  bool until_end = false;
  /// The address at which it reached that server, numeric.
  std::string server = {};
};

/// The first message of each connection, including one that replaces a broken connection.
struct hello {
  static constexpr int current_version = 3;
  int version = current_version;
  std::string run_id;
  node_id node;
  rendezvous_settings settings;
  /// Whether the server belongs to this node, and ends with it.
  bool hosts = false;
  /// The greatest term of a server that has welcomed this node; 0: none.
  std::int64_t highest_term = 0;
  std::optional<former_round> former = {};
  /// The node can send the server reports about itself.
  bool has_reports = false;
  /// The name by which the node is known even after a restart of its agent.
  std::string name = {};
  /// The nodes that the former server excluded, as far as this node knows.
  std::vector<exclusion> excluded = {};
  static constexpr std::size_t most_fingerprint = 16 * 1024;
  /// The setting `fingerprint`: the parts of the job file, as "NAME=DIGEST" separated by spaces. A
  /// node whose fingerprint differs from the job's is refused. Empty: it is not compared.
  std::string fingerprint = {};
};

/// The only message on the second connection of a node, which opens it when it is welcomed. If this
/// connection ends together with the first, the node is gone, and not just the network.
struct witness {
  std::string run_id;
  node_id node;
};

/// Leaves round `after`, if the node is in it, to join the next one.
struct join {
  /// The last round that this node was in; -1: none.
  std::int64_t after = -1;
  duration timeout{};
  /// The address at which the workers would meet if this node became the node of rank 0.
  rendezvous_round::master_endpoint offer;
  /// Its own numeric addresses, separated by spaces; empty if the job has no secret.
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

/// Ends the round, if the node is in one. No round begins until the node sends `resume` or leaves.
struct pause {
  std::string why;
  /// See rendezvous_change.
  bool saves_first = false;
};

struct resume {};

struct leave {
  /// The time for which the node, which was marked as bad, is excluded; 0: it is not excluded.
  duration keep_out{};
  std::string why = {};
};

/// The job has ended, for all nodes.
struct close_job {
  rendezvous_handler::job_end end = rendezvous_handler::job_end::failed;
  std::string why;
};

/// The node's report about itself for viewers of the job.
struct report {
  std::string text;
};

// ---- from the server ------------------------------------------------------------------------

struct welcome {
  /// Whether the server still knows the node and its place.
  bool resumed = false;
  /// The keep-alive settings and the grace for all nodes of the job: those of the server's own
  /// agent, or of the first node if the server has no agent.
  rendezvous_settings settings;
  /// The number of this server in the sequence of the job's servers: it is greater than that of its
  /// predecessor.
  std::int64_t term = 1;
};

struct refused {
  /// The join timeout has passed; otherwise, waiting does not help.
  bool timeout = false;
  std::string why;
};

/// Numeric addresses of the nodes of a round, separated by spaces. The node that serves the
/// workers' store receives as many of these messages as needed before its `placed`.
struct peers {
  std::int64_t round = 0;
  std::string addresses;
};

struct placed {
  std::int64_t round = 0;
  int rank = 0;
  int world = 1;
  rendezvous_round::master_endpoint master;
  /// How often workers have failed so far.
  int restarts = 0;
  std::int64_t term = 1;
  /// The rank of the node that hosts the server; -1: it is not in the round.
  int host_rank = -1;
  /// The nodes that are excluded from the job.
  std::vector<exclusion> excluded = {};
};

/// The notice that a joining node has to wait for a reason other than the number of nodes.
struct on_hold {
  std::string why;
};

/// The round `round` must end.
struct changed {
  std::int64_t round = 0;
  rendezvous_change what;
  /// worker_failed: the rank of the node whose failure counts; -1 for other changes.
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

/// The server no longer leads the job, and is about to close the connection. A successor that knows
/// this node begins no round before the node has joined, or has been silent for too long.
struct resigned {};

/// A change of what the node reports to the server from now on. Before the first such message, it
/// reports nothing.
struct report_wanted {
  report_demand demand = report_demand::nothing;
  /// See report_exchange::output_demand.
  std::string output = {};
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

/// Parses a message of a node. Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL rendezvous_request parse_rendezvous_request(std::string_view text);

/// Parses a message of the server. Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL rendezvous_answer parse_rendezvous_answer(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/rendezvous_message.ipp>
#endif
