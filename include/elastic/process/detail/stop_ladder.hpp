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

/// The next step of a stop, and why.
struct stop_step {
  enum class action {
    /// Send `signal` to `target` of each running process (and SIGCONT to all, so that a stopped
    /// process can handle it).
    send,
    /// Wait until a process has ended or until `until`, whichever is first; then ask again.
    wait,
    /// The processes were killed a while ago: find out why they have not ended; then ask again.
    look,
    /// No process runs any more.
    done,
  };
  enum class target {
    /// The process and its process group.
    group,
    /// The process alone.
    process,
    /// The other processes of its session.
    others,
  };
  action what;
  int signal = 0;
  time_point until = time_point::max();
  std::string_view reason;
  target whom = target::group;
};

/// Plans a stop: a signal to all, one deadline for all, SIGKILL for the rest. If the signal is for
/// the processes alone, what they have started gets it halfway to the deadline. It is a pure state
/// machine; its driver supplies the clock and the processes.
class stop_ladder {
 public:
  ELASTIC_DECL explicit stop_ladder(stop_plan plan,
                                    duration killed_patience = limits::killed_patience);

  /// The next step when `running` processes are left at the time `now`. `hurry` skips the rest of
  /// the grace period.
  ELASTIC_DECL stop_step next(std::size_t running, time_point now, bool hurry = false);

 private:
  enum class stage { running, asked, killed };

  // Saturates, so that an endless grace period does not wrap around into the past.
  ELASTIC_DECL stop_step kill(time_point now, std::string_view reason);

  stop_plan plan_;
  duration killed_patience_;
  stage stage_ = stage::running;
  time_point deadline_{};
  // When the others get the signal; `max`: not, or they have got it.
  time_point halftime_ = time_point::max();
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/stop_ladder.ipp>
#endif
