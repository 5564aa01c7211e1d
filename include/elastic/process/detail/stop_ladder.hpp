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
    /// Send `signal` to all running processes (and SIGCONT, so that a stopped process can handle
    /// it).
    send,
    /// Wait until a process has ended or until `until`, whichever is first; then ask again.
    wait,
    /// The processes were killed a while ago: find out why they have not ended; then ask again.
    look,
    /// No process runs any more.
    done,
  };
  action what;
  int signal = 0;
  time_point until = time_point::max();
  std::string_view reason;
};

/// Plans a stop: a signal to all, one deadline for all, SIGKILL for the rest. It is a pure state
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
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/stop_ladder.ipp>
#endif
