// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <tuple>

namespace elastic::detail {

/// A server's knowledge of the world that a former server of the same job made, from the reports of
/// nodes that return from it. Pure: no clocks, no I/O.
///
/// Until that world is over, a node that has not returned may still run its workers, so the server
/// must not make a round. It is over when no node can still be silent without having stopped its
/// workers. It is over earlier once every node is accounted for: the nodes of the newest round have
/// joined, which they do without workers, and the host is gone with its server, at whose address
/// the present server listens.
class previous_membership {
 public:
  /// A node sends its hello.
  /// @param here     the address at which it reached the present server
  /// @param silence  how long a node of the job may be silent
  void reported(const rendezvous_messages::former_round& place, std::string_view here,
                duration silence, time_point now);

  /// A node sends its hello that was connected to a server of this term, but in none of its rounds:
  /// that server may have made one without it.
  void reported_server(std::int64_t term, duration silence, time_point now);

  /// A node that reported its former place joins: its workers are gone.
  void joined(const rendezvous_messages::former_round& place);

  /// The node that hosts the present server joins. It takes the place of the one that ended with
  /// the former server.
  void host_joined() { has_host_joined_ = true; }

  /// Whether any node has reported such a world.
  bool is_known() const { return newest_.round >= 0 || server_term_ > 0; }

  /// Whether no worker of that world can be left. Also true if no such world is known.
  bool is_over(time_point now) const;

  /// The latest time at which it is over; `time_point::max()` if that is not known.
  time_point over_at() const { return over_at_; }

 private:
  bool is_accounted_for() const;

  /// The newest round that a node reported.
  rendezvous_messages::former_round newest_{.term = 0, .round = -1, .world = 0};
  /// The term of the newest server that a node reported.
  std::int64_t server_term_ = 0;
  bool was_last_ = false;
  bool was_served_here_ = false;
  /// The ranks that have joined, except the host's.
  std::set<int> joined_ranks_;
  bool has_host_joined_ = false;
  time_point over_at_ = time_point::max();
};

inline auto age_of(const rendezvous_messages::former_round& place) {
  return std::tie(place.term, place.round);
}

inline void previous_membership::reported(const rendezvous_messages::former_round& place,
                                          std::string_view here, duration silence, time_point now) {
  if (!is_known()) over_at_ = now + silence;
  if (age_of(place) < age_of(newest_)) return;
  if (age_of(newest_) < age_of(place)) {
    newest_ = place;
    was_last_ = false;
    was_served_here_ = true;
    joined_ranks_.clear();
  }
  was_last_ = was_last_ || place.until_end;
  was_served_here_ = was_served_here_ && place.server == here;
}

inline void previous_membership::reported_server(std::int64_t term, duration silence,
                                                 time_point now) {
  if (!is_known()) over_at_ = now + silence;
  server_term_ = std::max(server_term_, term);
}

inline void previous_membership::joined(const rendezvous_messages::former_round& place) {
  const bool is_in_newest = age_of(place) == age_of(newest_) && place.rank < newest_.world;
  if (is_in_newest && place.rank != newest_.host_rank) joined_ranks_.insert(place.rank);
}

inline bool previous_membership::is_over(time_point now) const {
  return !is_known() || now >= over_at_ || is_accounted_for();
}

inline bool previous_membership::is_accounted_for() const {
  if (!was_last_ || !was_served_here_ || newest_.term < server_term_) return false;
  const bool host_took_part = newest_.host_rank >= 0;
  if (host_took_part && !has_host_joined_) return false;
  const int others = newest_.world - (host_took_part ? 1 : 0);
  return joined_ranks_.size() == static_cast<std::size_t>(others);
}

}  // namespace elastic::detail
