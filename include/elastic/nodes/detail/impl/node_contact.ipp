// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/node_contact.hpp>

#include <algorithm>

namespace elastic::detail {

ELASTIC_DECL void node_contact::begin(connection first, time_point now) {
  *this = node_contact();
  link = first;
  heard = now;
}

ELASTIC_DECL void node_contact::begin_witness(connection second) {
  witness = second;
  witness_ended_at_.reset();
}

ELASTIC_DECL void node_contact::end_link(time_point now) {
  link.reset();
  link_ended_at_ = now;
}

ELASTIC_DECL void node_contact::end_witness(time_point now) {
  witness.reset();
  witness_ended_at_ = now;
}

ELASTIC_DECL auto node_contact::connections() const -> std::vector<connection> {
  std::vector<connection> present;
  if (link) present.push_back(*link);
  if (witness) present.push_back(*witness);
  return present;
}

ELASTIC_DECL time_point node_contact::lost_at(const rendezvous_settings& settings) const {
  const time_point silent_until = heard + settings.silence();
  if (!link_ended_at_ || witness) return silent_until;
  // The witness may be still to come, and the node alive.
  if (!witness_ended_at_) return silent_until;
  // The last packets of a dead process may get lost once.
  const auto [first, last] = std::minmax(*link_ended_at_, *witness_ended_at_);
  if (last - first > settings.reconnect_grace) return silent_until;
  return last + settings.reconnect_grace;
}

ELASTIC_DECL time_point node_contact::last_end() const {
  const time_point first = link_ended_at_.value_or(heard);
  return std::max(first, witness_ended_at_.value_or(first));
}

}  // namespace elastic::detail
