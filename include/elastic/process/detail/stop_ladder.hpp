// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/stop_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace elastic::detail {

/// The next step of a stop, with the reason.
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
/// the processes alone, the processes that they have started receive it halfway to the deadline. It
/// is a pure state machine; its driver supplies the clock and the processes.
class stop_ladder {
 public:
  explicit stop_ladder(stop_plan plan, duration killed_patience = limits::killed_patience);

  /// The next step when `running` processes are left at the time `now`. `stop_waiting` skips the
  /// rest of the grace period.
  stop_step next(std::size_t running, time_point now, bool stop_waiting = false);

 private:
  enum class stage { running, asked, killed };

  // Saturates, so that an endless grace period does not wrap around into the past.
  stop_step kill(time_point now, std::string_view reason);

  stop_plan plan_;
  duration killed_patience_;
  stage stage_ = stage::running;
  time_point deadline_{};
  // The time at which the others receive the signal; `max`: never, or they have received it.
  time_point halftime_ = time_point::max();
};

inline stop_ladder::stop_ladder(stop_plan plan, duration killed_patience)
    : plan_(plan), killed_patience_(killed_patience) {}

inline stop_step stop_ladder::next(std::size_t running, time_point now, bool stop_waiting) {
  using action = stop_step::action;
  using target = stop_step::target;
  if (running == 0) return {action::done, 0, now, "all have ended"};
  if (stage_ == stage::killed) {
    if (now < deadline_) {
      return {action::wait, 0, deadline_, "killed, the kernel has yet to end them"};
    }
    deadline_ = deadline_after(now, killed_patience_);
    return {action::look, 0, deadline_, "killed a while ago"};
  }
  if (stop_waiting) return kill(now, "told not to wait");
  if (stage_ == stage::asked) {
    if (now >= deadline_) return kill(now, "their grace is over");
    if (now < halftime_) {
      return {action::wait, 0, std::min(halftime_, deadline_), "within their grace"};
    }
    halftime_ = time_point::max();
    return {action::send, plan_.signal, deadline_, "half of their grace is over", target::others};
  }
  if (plan_.signal == SIGKILL) return kill(now, "to be killed at once");
  if (plan_.grace <= duration::zero()) return kill(now, "no grace is given");
  stage_ = stage::asked;
  deadline_ = deadline_after(now, plan_.grace);
  const bool is_alone = plan_.scope == signal_scope::process;
  if (is_alone) halftime_ = deadline_after(now, plan_.grace / 2);
  return {action::send, plan_.signal, deadline_, "asked to end",
          is_alone ? target::process : target::group};
}

inline stop_step stop_ladder::kill(time_point now, std::string_view reason) {
  stage_ = stage::killed;
  deadline_ = deadline_after(now, killed_patience_);
  return {stop_step::action::send, SIGKILL, time_point::max(), reason};
}

}  // namespace elastic::detail
