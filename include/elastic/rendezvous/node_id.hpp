// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <compare>
#include <cstdint>
#include <string>

namespace elastic {

/// Names one agent in a rendezvous. The order is that by which the nodes of a round get their
/// ranks, on every node the same.
struct node_id {
  /// The name or address of the machine; compared byte by byte.
  std::string host;
  /// The process of the agent.
  std::int64_t pid = 0;
  /// Tells the agents of one process apart, from 0.
  std::int64_t local_id = 0;

  friend auto operator<=>(const node_id&, const node_id&) = default;
  friend bool operator==(const node_id&, const node_id&) = default;

  /// "host_pid_localid", as messages show it.
  ELASTIC_DECL std::string text() const;
};

/// A new name for an agent of this process: each of its handlers is a node of its own.
/// @param host  what the user calls this host; empty: its own name
ELASTIC_DECL node_id new_node(const std::string& host);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/node_id.ipp>
#endif
