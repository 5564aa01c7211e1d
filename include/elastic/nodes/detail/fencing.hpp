// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <algorithm>
#include <chrono>

namespace elastic::detail {

/// The times at which a node that is cut off notices it, at which its workers are gone, and at
/// which the others continue without it. The order holds even if one clock runs 2 % faster than
/// another. All times count from the last moment at which the others can know that the node is
/// alive.
struct fencing {
  /// The node gives up on the others, and its workers get the signal to end.
  duration notice{};
  /// The remaining workers are killed.
  duration kill{};
  /// The others continue.
  duration others_go_on{};

  /// How long a killed process may take to disappear.
  static constexpr std::chrono::milliseconds kill_time{50};

  /// For a node that counts as lost after `silence`, which is greater than 0.
  static fencing of_silence(duration silence);

  /// For a node whose connection ended and that counts as lost unless it returns within `grace`,
  /// which is greater than 0.
  static fencing of_end(duration grace);

  /// For the node of an agent that stopped leading because it lost the others half of `grace` ago.
  /// It has the rest of the time of `of_end`.
  static fencing of_step_down(duration grace);
};

inline fencing fencing::of_silence(duration silence) {
  const duration margin = std::min<duration>(silence / 50 + kill_time, silence / 8);
  return {silence / 4 * 3, silence - margin, silence};
}

inline fencing fencing::of_end(duration grace) { return {grace / 2, grace / 4 * 3, grace}; }

inline fencing fencing::of_step_down(duration grace) {
  return {duration::zero(), grace / 4, grace / 2};
}

}  // namespace elastic::detail
