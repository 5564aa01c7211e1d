// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace elastic::detail {

/// The two connections of a node as its server sees them, and the time at which the node counts as
/// lost without them. On the first, the link, the node sends its messages. The second, the witness,
/// carries none: its end shows that the node has ended.
struct node_contact {
  using connection = std::uint64_t;

  /// The node has a new link and no witness yet.
  void begin(connection first, time_point now);

  void begin_witness(connection second);
  void end_link(time_point now);
  void end_witness(time_point now);

  /// The connections that the node has now.
  std::vector<connection> connections() const;

  /// The time at which the node counts as lost if it sends nothing more.
  time_point lost_at(const rendezvous_settings& settings) const;

  /// The time at which the last of its connections ended. For a node without connections.
  time_point last_end() const;

  std::optional<connection> link;
  std::optional<connection> witness;
  time_point heard;

 private:
  std::optional<time_point> link_ended_at_;
  std::optional<time_point> witness_ended_at_;
};

inline void node_contact::begin(connection first, time_point now) {
  *this = node_contact();
  link = first;
  heard = now;
}

inline void node_contact::begin_witness(connection second) {
  witness = second;
  witness_ended_at_.reset();
}

inline void node_contact::end_link(time_point now) {
  link.reset();
  link_ended_at_ = now;
}

inline void node_contact::end_witness(time_point now) {
  witness.reset();
  witness_ended_at_ = now;
}

inline auto node_contact::connections() const -> std::vector<connection> {
  std::vector<connection> present;
  if (link) present.push_back(*link);
  if (witness) present.push_back(*witness);
  return present;
}

inline time_point node_contact::lost_at(const rendezvous_settings& settings) const {
  const time_point silent_until = heard + settings.silence();
  if (!link_ended_at_ || witness) return silent_until;
  // The witness may not have connected yet, so the node may be alive.
  if (!witness_ended_at_) return silent_until;
  // The last packet of a dead process may be lost and sent again.
  const auto [first, last] = std::minmax(*link_ended_at_, *witness_ended_at_);
  if (last - first > settings.reconnect_grace) return silent_until;
  return last + settings.reconnect_grace;
}

inline time_point node_contact::last_end() const {
  const time_point first = link_ended_at_.value_or(heard);
  return std::max(first, witness_ended_at_.value_or(first));
}

}  // namespace elastic::detail
