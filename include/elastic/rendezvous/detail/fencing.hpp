// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <chrono>

namespace elastic::detail {

/// When a node that is cut off notices, when its workers are gone, and when the others go on
/// without it: one after the other, also if a clock is faster than another by 2 %. All count from
/// the last moment at which the others can know that the node lives.
struct fencing {
  /// The node gives up the others, and its workers get their signal to end.
  duration notice{};
  /// What is left of its workers is killed.
  duration kill{};
  /// The others go on.
  duration others_go_on{};

  /// How long a process may take to be gone once it is killed.
  static constexpr std::chrono::milliseconds kill_time{50};

  /// Of a node that is lost after `silence`, over 0.
  ELASTIC_DECL static fencing of_silence(duration silence);

  /// Of a node whose connection ended, and that is lost if it does not come back within `grace`,
  /// over 0.
  ELASTIC_DECL static fencing of_end(duration grace);

  /// Of the node whose agent no longer leads the others, because it lost them half of `grace`
  /// ago: it has the rest of the time of `of_end`.
  ELASTIC_DECL static fencing of_step_down(duration grace);

  /// Whether nothing is left of the workers when the others go on, and they had time to end.
  ELASTIC_DECL bool is_safe() const;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/impl/fencing.ipp>
#endif
