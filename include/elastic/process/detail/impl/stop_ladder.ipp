// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/stop_ladder.hpp>

#include <algorithm>

namespace elastic::detail {

ELASTIC_DECL stop_ladder::stop_ladder(stop_plan plan, duration killed_patience)
    : plan_(plan), killed_patience_(killed_patience) {}

ELASTIC_DECL stop_step stop_ladder::next(std::size_t running, time_point now, bool hurry) {
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
  if (hurry) return kill(now, "told not to wait");
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

ELASTIC_DECL stop_step stop_ladder::kill(time_point now, std::string_view reason) {
  stage_ = stage::killed;
  deadline_ = deadline_after(now, killed_patience_);
  return {stop_step::action::send, SIGKILL, time_point::max(), reason};
}

}  // namespace elastic::detail
