// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/detail/fencing.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// When a node last said that it lives, and was heard; and what follows if it is not heard again.
///
/// Thread-safety: one strand at a time.
class life_sign {
 public:
  /// @param silence  after how long the others take the node for lost
  life_sign(std::shared_ptr<time_source> time, duration silence)
      : time_(std::move(time)), times_(fencing::of_silence(silence)) {}

  /// The node was heard; `begun` is when it began to say so, not when the answer came.
  ELASTIC_DECL void heard(time_point begun);

  /// How long ago that was; 0 if it has said nothing yet.
  ELASTIC_DECL duration age() const;

  /// How long its workers may run on if it is not heard again.
  ELASTIC_DECL duration remaining() const;

  /// Waits until this node has to give up the others, unless it is heard again before; for ever if
  /// it has said nothing yet.
  ///
  /// Cancellation: all types, no effect.
  ELASTIC_DECL task<void> wait_for_notice() const;

  /// The same until its workers have to be gone.
  ELASTIC_DECL task<void> wait_for_kill() const;

 private:
  ELASTIC_DECL task<void> wait_for_age(duration limit) const;

  std::shared_ptr<time_source> time_;
  fencing times_;
  std::optional<time_point> heard_at_;
};

/// Why a node gives up the others.
/// @param problem  half a sentence: what the last attempt to reach them failed by
ELASTIC_DECL std::string cut_off_text(const life_sign& sign, const std::string& problem);

/// What ends the round of a node that gives up the others. It can meet them again as a node that
/// comes anew.
ELASTIC_DECL rendezvous_change cut_off_change(const life_sign& sign, const std::string& problem,
                                              int restarts);

/// How long it looks for the place where they are to meet.
inline constexpr std::chrono::seconds second_look{2};

/// Looks once more for the place where the others meet, after a `cut_off_change`.
///
/// @param looking  asks something of the place
/// Errors: `errc::connection_failed` with `why`, if it does not answer within
/// `second_look`; others of `looking`.
/// Cancellation: all types.
ELASTIC_DECL task<void> reach_again(std::shared_ptr<time_source> time, task<void> looking,
                                    std::string why);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/life_sign.ipp>
#endif
