// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/stop_plan.hpp>

#include <cstddef>
#include <string_view>

namespace elastic::detail {

/// What to do next on the way to a stop, and why.
struct stop_step {
  enum class action {
    /// Send `signal` to all that run (and SIGCONT, so that a stopped one can follow it).
    send,
    /// Wait until one has ended, or `until`, whichever is first; then ask again.
    wait,
    /// They were killed a while ago: look at what holds them up; then ask again.
    look,
    /// Nothing runs any more.
    done,
  };
  action what;
  int signal = 0;
  time_point until = time_point::max();
  std::string_view reason;
};

/// The stop as a plan: a signal to all, one deadline for all, SIGKILL for the rest. A machine
/// without clock and processes; its driver supplies both.
class stop_ladder {
 public:
  ELASTIC_DECL explicit stop_ladder(stop_plan plan,
                                    duration killed_patience = limits::killed_patience);

  /// The next step when `running` processes are left at the time `now`. `hurry`: nobody wants to
  /// wait for the grace any more.
  ELASTIC_DECL stop_step next(std::size_t running, time_point now, bool hurry = false);

 private:
  enum class stage { running, asked, killed };

  // A time without end must not wrap around into the past.
  ELASTIC_DECL stop_step kill(time_point now, std::string_view reason);

  stop_plan plan_;
  duration killed_patience_;
  stage stage_ = stage::running;
  time_point deadline_{};
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/stop_ladder.ipp>
#endif
