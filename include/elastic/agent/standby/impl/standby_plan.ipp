// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/standby/standby_plan.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL void standby_plan::died(std::string reason, time_point now) {
  died_at_ = now;
  if (++deaths_ < limits::standby_deaths) return;
  give_up(fmt::format("{} of them ended in a row before they were ready, the last: {}", deaths_,
                      std::move(reason)));
}

ELASTIC_DECL void standby_plan::lost(std::string reason, time_point now) {
  died_at_ = now;
  if (++losses_ < limits::standby_losses) return;
  give_up(
      fmt::format("{} of them ended while they waited, the last: {}", losses_, std::move(reason)));
}

ELASTIC_DECL void standby_plan::refused(const std::string& reason, int attempt) {
  const bool is_again = refusals_.emplace(reason, attempt).first->second != attempt;
  if (is_again || refusals_.size() > limits::standby_modules) give_up(reason);
}

ELASTIC_DECL bool standby_plan::dropped(const std::string& module) {
  const bool is_new = dropped_.insert(module).second;
  if (!is_new || dropped_.size() > limits::standby_modules) {
    give_up("they do not leave out what they are told to");
    return false;
  }
  return true;
}

ELASTIC_DECL void standby_plan::give_up(std::string reason) {
  if (!off_) off_ = std::move(reason);
}

ELASTIC_DECL standby_step standby_plan::next(const standby_view& view) const {
  using action = standby_step::action;
  if (off_) return {action::rest, {}, "there are to be none: " + *off_};
  if (!view.may_restart) return {action::rest, {}, "no restart is left"};
  if (view.missing == 0) return {action::rest, {}, "every worker has one"};
  time_point due = deadline_after(view.launched, delay_);
  if (died_at_) due = std::max(due, deadline_after(*died_at_, delay_));
  if (view.now < due) return {action::wait, due, "the workers begin first"};
  return {action::make, {}, fmt::format("{} workers have none", view.missing)};
}

}  // namespace elastic
