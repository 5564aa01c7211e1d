// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace elastic {

/// What nodes and the server of a rendezvous tell each other: one JSON object a message, whose
/// "kind" is the name of the struct. docs/design.md has the conversation.
namespace rendezvous_messages {

// ---- from a node ----------------------------------------------------------------------------

/// The first word of a connection, also of one that takes up a broken one.
struct hello {
  static constexpr int current_version = 3;
  int version = current_version;
  std::string run_id;
  node_id node;
  rendezvous_settings settings;
};

/// Leaves round `after`, if the node is in it, for the next.
struct join {
  /// The last round that this node was in; -1: none.
  std::int64_t after = -1;
  duration timeout{};
  /// Where its workers would find each other if it became the node of rank 0.
  master_endpoint offer;
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

struct leave {};

/// The job has ended, for all nodes.
struct close_job {
  job_end end = job_end::failed;
  std::string why;
};

struct ask_status {};

// ---- from the server ------------------------------------------------------------------------

struct welcome {
  /// Whether the server still knows the node, with its place.
  bool resumed = false;
  /// The job's keep-alives and grace, which those of the first node are: all others go by them.
  rendezvous_settings settings;
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
  master_endpoint master;
  /// How often workers failed so far.
  int restarts = 0;
};

/// The round `round` is to end.
struct changed {
  std::int64_t round = 0;
  rendezvous_change what;
};

/// The workers of every node have succeeded.
struct all_finished {
  std::int64_t round = 0;
};

struct closed {
  job_end end = job_end::failed;
  std::string why;
};

struct alive {};

struct status {
  int waiting = 0;
  bool is_closed = false;
};

}  // namespace rendezvous_messages

using rendezvous_request =
    std::variant<rendezvous_messages::hello, rendezvous_messages::join,
                 rendezvous_messages::keep_alive, rendezvous_messages::failed,
                 rendezvous_messages::finished, rendezvous_messages::leave,
                 rendezvous_messages::close_job, rendezvous_messages::ask_status>;

using rendezvous_answer = std::variant<
    rendezvous_messages::welcome, rendezvous_messages::refused, rendezvous_messages::peers,
    rendezvous_messages::placed, rendezvous_messages::changed, rendezvous_messages::all_finished,
    rendezvous_messages::closed, rendezvous_messages::alive, rendezvous_messages::status>;

/// The message as one JSON object.
ELASTIC_DECL std::string to_text(const rendezvous_request& message);
ELASTIC_DECL std::string to_text(const rendezvous_answer& message);

/// Reads what a node says. Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL rendezvous_request parse_rendezvous_request(std::string_view text);

/// Reads what the server says. Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL rendezvous_answer parse_rendezvous_answer(std::string_view text);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/impl/rendezvous_message.ipp>
#endif
