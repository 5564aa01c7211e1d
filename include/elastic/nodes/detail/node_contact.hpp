// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace elastic::detail {

/// The two connections of a node as its server sees them, and until when the node may live without
/// them. On the first, the link, the node sends its messages; the second, the witness, only ends
/// when the node does.
struct node_contact {
  using connection = std::uint64_t;

  /// The node has a new link and no witness yet.
  ELASTIC_DECL void begin(connection first, time_point now);

  ELASTIC_DECL void begin_witness(connection second);
  ELASTIC_DECL void end_link(time_point now);
  ELASTIC_DECL void end_witness(time_point now);

  /// The connections that the node has now.
  ELASTIC_DECL std::vector<connection> connections() const;

  /// When the node is lost, if nothing more is heard of it.
  ELASTIC_DECL time_point lost_at(const rendezvous_settings& settings) const;

  /// When the last of its connections ended. For a node without connections.
  ELASTIC_DECL time_point last_end() const;

  std::optional<connection> link;
  std::optional<connection> witness;
  time_point heard;

 private:
  std::optional<time_point> link_ended_at_;
  std::optional<time_point> witness_ended_at_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/impl/node_contact.ipp>
#endif
