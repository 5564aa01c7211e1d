// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/former_world.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace elastic::detail {

inline auto age_of(const rendezvous_messages::former_round& place) {
  return std::tie(place.term, place.round);
}

ELASTIC_DECL void former_world::reported(const rendezvous_messages::former_round& place,
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

ELASTIC_DECL void former_world::reported_server(std::int64_t term, duration silence,
                                                time_point now) {
  if (!is_known()) over_at_ = now + silence;
  server_term_ = std::max(server_term_, term);
}

ELASTIC_DECL void former_world::joined(const rendezvous_messages::former_round& place) {
  const bool is_in_newest = age_of(place) == age_of(newest_) && place.rank < newest_.world;
  if (is_in_newest && place.rank != newest_.host_rank) joined_ranks_.insert(place.rank);
}

ELASTIC_DECL bool former_world::is_over(time_point now) const {
  return !is_known() || now >= over_at_ || is_accounted_for();
}

ELASTIC_DECL bool former_world::is_accounted_for() const {
  if (!was_last_ || !was_served_here_ || newest_.term < server_term_) return false;
  const bool host_took_part = newest_.host_rank >= 0;
  if (host_took_part && !has_host_joined_) return false;
  const int others = newest_.world - (host_took_part ? 1 : 0);
  return joined_ranks_.size() == static_cast<std::size_t>(others);
}

}  // namespace elastic::detail
