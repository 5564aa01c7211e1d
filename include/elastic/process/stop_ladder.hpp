// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string_view>

namespace elastic {

/// How processes are stopped: asked by a signal, killed when their grace is over.
struct stop_plan {
  /// What they are asked by. SIGKILL does not ask: they are killed at once.
  int signal = SIGTERM;
  /// How long they may take, all together. Zero or less: they are killed at once.
  duration grace = std::chrono::seconds(30);

  friend bool operator==(const stop_plan&, const stop_plan&) = default;
};

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

/// The stop as a plan: a signal to all, one deadline for all, SIGKILL for who is left. A machine
/// without clock and processes; who drives it tells it both.
class stop_ladder {
 public:
  explicit stop_ladder(stop_plan plan, duration killed_patience = limits::killed_patience)
      : plan_(plan), killed_patience_(killed_patience) {}

  /// The next step when `running` processes are left at the time `now`. `hurry`: nobody wants to
  /// wait for the grace any more.
  stop_step next(std::size_t running, time_point now, bool hurry = false) {
    using action = stop_step::action;
    if (running == 0) return {action::done, 0, now, "all have ended"};
    if (stage_ == stage::killed) {
      if (now < deadline_) {
        return {action::wait, 0, deadline_, "killed, the kernel has yet to end them"};
      }
      deadline_ = later(now, killed_patience_);
      return {action::look, 0, deadline_, "killed a while ago"};
    }
    if (hurry) return kill(now, "told not to wait");
    if (stage_ == stage::asked) {
      if (now < deadline_) return {action::wait, 0, deadline_, "within their grace"};
      return kill(now, "their grace is over");
    }
    if (plan_.signal == SIGKILL) return kill(now, "to be killed at once");
    if (plan_.grace <= duration::zero()) return kill(now, "no grace is given");
    stage_ = stage::asked;
    deadline_ = later(now, plan_.grace);
    return {action::send, plan_.signal, deadline_, "asked to end"};
  }

 private:
  enum class stage { running, asked, killed };

  // A time without end must not wrap around into the past.
  static time_point later(time_point now, duration how_much) {
    return how_much < time_point::max() - now ? now + how_much : time_point::max();
  }

  stop_step kill(time_point now, std::string_view reason) {
    stage_ = stage::killed;
    deadline_ = later(now, killed_patience_);
    return {stop_step::action::send, SIGKILL, time_point::max(), reason};
  }

  stop_plan plan_;
  duration killed_patience_;
  stage stage_ = stage::running;
  time_point deadline_{};
};

}  // namespace elastic
