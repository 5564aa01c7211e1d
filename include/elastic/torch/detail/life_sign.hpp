// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/fencing.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// When a node's last heartbeat arrived, and the deadlines that follow if no further one does.
///
/// Thread-safety: one strand at a time.
class life_sign {
 public:
  /// @param silence  how long after a heartbeat the others regard the node as lost
  life_sign(std::shared_ptr<time_source> time, duration silence)
      : time_(std::move(time)), times_(fencing::of_silence(silence)) {}

  /// A heartbeat arrived. `begun` is the time when the node began to send it, not that of the
  /// answer.
  ELASTIC_DECL void heard(time_point begun);

  /// The time since then; 0 before the first heartbeat.
  ELASTIC_DECL duration age() const;

  /// How long its workers may continue without another heartbeat.
  ELASTIC_DECL duration remaining() const;

  /// Waits until this node has to give up the others, unless another heartbeat arrives earlier;
  /// before the first one, forever.
  ///
  /// Cancellation: all types, no effect.
  ELASTIC_DECL task<void> wait_for_notice() const;

  /// The same until its workers must be gone.
  ELASTIC_DECL task<void> wait_for_kill() const;

 private:
  ELASTIC_DECL task<void> wait_for_age(duration limit) const;

  std::shared_ptr<time_source> time_;
  fencing times_;
  std::optional<time_point> heard_at_;
};

/// Why a node gives up the others.
/// @param problem  a clause: why the last attempt to reach them failed
ELASTIC_DECL std::string cut_off_text(const life_sign& sign, const std::string& problem);

/// The change that ends the round of a node that gives up the others. It can join again as a new
/// node.
ELASTIC_DECL rendezvous_change cut_off_change(const life_sign& sign, const std::string& problem,
                                              int restarts);

/// The time limit of `reach_again`.
inline constexpr std::chrono::seconds second_look{2};

/// Tries once more to reach the backend after a `cut_off_change`.
///
/// @param looking  a request to the backend
/// Errors: `errc::connection_failed` with `why` if it takes longer than `second_look`; those of
/// `looking`.
/// Cancellation: all types.
ELASTIC_DECL task<void> reach_again(std::shared_ptr<time_source> time, task<void> looking,
                                    std::string why);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/life_sign.ipp>
#endif
