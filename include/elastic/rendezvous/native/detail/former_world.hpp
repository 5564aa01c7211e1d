// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/native/detail/rendezvous_message.hpp>

#include <cstdint>
#include <set>
#include <string_view>

namespace elastic::detail {

/// What a server knows of the world that a former one of the same job made: what nodes tell that
/// come back from it. Pure: words and times in, answers out.
///
/// Until that world is over, a node that has not come back may still run its workers, so no round
/// may be made. It is over when a node can be silent no longer without having stopped them; or
/// before, when everybody is accounted for: the nodes of the newest round have joined, which they
/// do without workers, and the host is gone with its server, at whose address the present one
/// listens.
class former_world {
 public:
  /// A node says hello.
  /// @param here     the address at which it reached the present server
  /// @param silence  how long a node of the job may be silent
  ELASTIC_DECL void told(const rendezvous_messages::former_round& place, std::string_view here,
                         duration silence, time_point now);

  /// A node says hello that was with a server of this term, in none of whose rounds it was: one may
  /// have been made without it.
  ELASTIC_DECL void told_server(std::int64_t term, duration silence, time_point now);

  /// A node joins that says no more than that it was in a round.
  ELASTIC_DECL void told_round(std::int64_t round, duration silence, time_point now);

  /// A node that told of its place joins: its workers are gone.
  ELASTIC_DECL void joined(const rendezvous_messages::former_round& place);

  /// The node that hosts the present server joins, in the place of the one that went with the
  /// former.
  void host_joined() { has_host_joined_ = true; }

  /// Whether there was such a world, as far as anybody told.
  bool is_known() const { return newest_.round >= 0 || server_term_ > 0; }

  /// Whether no worker of it can be left. Also true if it is not known.
  ELASTIC_DECL bool is_over(time_point now) const;

  /// When it is over at the latest; `time_point::max()` if it is not known.
  time_point over_at() const { return over_at_; }

 private:
  ELASTIC_DECL bool is_accounted_for() const;

  /// Of the newest round that a node reported.
  rendezvous_messages::former_round newest_{.round = -1, .world = 0};
  /// Of the newest server that a node reported.
  std::int64_t server_term_ = 0;
  bool was_last_ = false;
  bool was_served_here_ = false;
  /// All but the host's.
  std::set<int> joined_ranks_;
  bool has_host_joined_ = false;
  time_point over_at_ = time_point::max();
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/detail/impl/former_world.ipp>
#endif
