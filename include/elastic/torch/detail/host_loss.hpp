// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace elastic::detail {

/// What a node of a round knows of the loss of the node of group rank 0, through which the agents
/// of the round are connected. The node runs no worker of the round any more.
struct host_loss {
  /// When that node ended both connections; none: it did not, or left in order.
  std::optional<time_point> ended_at = std::nullopt;
  /// This node has said so where all meet.
  bool is_claimed = false;
  /// When this node saw that all others of the round have.
  std::optional<time_point> all_claimed_at = std::nullopt;
  /// How long a node whose connections ended has to come back.
  duration grace{};

  /// Processes take their time to be gone, and systems to tell of an end.
  static constexpr std::chrono::milliseconds shortest_grace{250};
};

enum class host_loss_action {
  /// Nothing is known but what the place tells of that node's signs of life.
  leave_to_place,
  /// Say that it is lost.
  claim,
  wait_for_claims,
  wait_until,
  /// Take it out of the round, without waiting for its lease.
  go_on,
};

struct host_loss_decision {
  host_loss_action action;
  std::string_view reason;
  /// Of `wait_until`.
  time_point until = time_point::max();
};

/// What a node does next about the node of group rank 0.
ELASTIC_DECL host_loss_decision decide_host_loss(const host_loss& loss, time_point now);

/// When the workers of the node of group rank 0 have to be gone, because all others may go on
/// without it; `time_point::max()`: they may not.
/// @param alone_since  when the last connection to another node ended
/// @param claimed_at   when it saw that all others claim that it is lost
/// @param grace        how long a node whose connections ended has to come back
ELASTIC_DECL time_point host_fence(std::optional<time_point> alone_since,
                                   std::optional<time_point> claimed_at, duration grace);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/host_loss.ipp>
#endif
