// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/host_loss.hpp>

#include <elastic/rendezvous/detail/fencing.hpp>

#include <algorithm>

namespace elastic::detail {

/// By how much later one end may hear that a connection has ended than the other.
inline constexpr std::chrono::milliseconds end_skew{50};

ELASTIC_DECL host_loss_decision decide_host_loss(const host_loss& loss, time_point now) {
  if (!loss.ended_at) {
    return {host_loss_action::leave_to_place, "the connections to it have not both ended"};
  }
  if (!loss.is_claimed) return {host_loss_action::claim, "both connections to it have ended"};
  if (!loss.all_claimed_at) {
    return {host_loss_action::wait_for_claims, "others may still be connected with it"};
  }
  const duration others_go_on = fencing::of_end(loss.grace).others_go_on;
  const time_point until =
      std::max(*loss.ended_at + others_go_on + end_skew, *loss.all_claimed_at + others_go_on);
  if (now < until) return {host_loss_action::wait_until, "its workers may still run", until};
  return {host_loss_action::go_on, "everybody has lost it, and its workers are gone"};
}

ELASTIC_DECL time_point host_fence(std::optional<time_point> alone_since,
                                   std::optional<time_point> claimed_at, duration grace) {
  // Who claims waits from then on, not from the end of the connections.
  const time_point of_claims = claimed_at.value_or(time_point::max());
  if (!alone_since) return of_claims;
  return std::min(*alone_since + fencing::of_end(grace).kill, of_claims);
}

}  // namespace elastic::detail
