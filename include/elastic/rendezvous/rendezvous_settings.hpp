// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// The numbers of nodes and the timeouts of a rendezvous. All durations except `scale_up_delay`
/// are greater than 0 and at most 1e8 s.
struct rendezvous_settings {
  /// 1 ≤ min_nodes ≤ max_nodes.
  int min_nodes = 1;
  int max_nodes = 1;
  /// The numbers of nodes that a round may have, ascending, from `min_nodes` to `max_nodes`;
  /// surplus nodes stand by. Empty: every number from `min_nodes` to `max_nodes`.
  std::vector<int> node_counts = {};
  /// How long nodes that could join a running round stand by before the round ends for them. 0: it
  /// ends at once.
  duration scale_up_delay = duration::zero();
  /// How long a node waits for a round that it can be in.
  duration join_timeout = std::chrono::seconds(600);
  /// How long a round that has enough nodes waits for further ones that it does not know yet.
  duration last_call_timeout = std::chrono::seconds(30);
  /// How often a node sends a keep-alive, at least `limits::keep_alive_interval`, and after how
  /// many missed ones it is lost: 2 to 1,000,000.
  duration keep_alive_interval = std::chrono::seconds(5);
  int keep_alive_max_attempt = 3;
  /// How long a node may take to reconnect after its connection breaks before it is lost.
  duration reconnect_grace = std::chrono::milliseconds(300);

  /// The largest allowed number of nodes if `nodes` nodes, at least `min_nodes`, are available.
  ELASTIC_DECL int most_of(int nodes) const;
  /// Whether a round of `nodes` nodes could be larger if up to `most` nodes were available.
  ELASTIC_DECL bool can_grow(int nodes, int most) const;

  /// The time without a keep-alive after which a node is lost: at most ten years.
  ELASTIC_DECL duration silence() const;

  /// Lowers `silence()` and `reconnect_grace` to those of `most`, if they are higher.
  ELASTIC_DECL void bound_patience(const rendezvous_settings& most);
};

/// Parses numbers of nodes such as "2,4,8".
/// Errors: `errc::invalid_argument` unless they are in ascending order, from 1 to `limits::nodes`,
/// and there are at most `limits::node_counts` of them.
ELASTIC_DECL std::vector<int> parse_node_counts(std::string_view text);

/// "2,4,8".
ELASTIC_DECL std::string node_counts_text(const std::vector<int>& node_counts);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/rendezvous_settings.ipp>
#endif
