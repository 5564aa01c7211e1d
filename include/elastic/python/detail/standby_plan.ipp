// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/standby_plan.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void standby_plan::begin_attempt() {
  const duration first = std::max<duration>(delay_, std::chrono::seconds(1));
  review_after_ = first < duration::max() / 2 ? 2 * first : duration::max();
}

ELASTIC_DECL void standby_plan::reviewed(const standby_view& view) {
  while (review_after_ < duration::max() / 2 &&
         deadline_after(view.launched, review_after_) <= view.now) {
    review_after_ *= 2;
  }
}

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
    give_up("they import modules that they should leave out");
    return false;
  }
  return true;
}

ELASTIC_DECL void standby_plan::give_up(std::string reason) {
  if (!off_) off_ = std::move(reason);
}

/// Makes standbys if twice their memory is available, and ends them one by one while less than the
/// memory of one is available.
ELASTIC_DECL standby_step standby_plan::next(const standby_view& view) const {
  using action = standby_step::action;
  constexpr std::uint64_t mib = 1024 * 1024;
  standby_step step = next_but_for_memory(view);
  if (!view.available || view.size == 0) return step;
  const std::string shortage =
      fmt::format("memory is short: {} MiB are available, and a standby takes {} MiB",
                  *view.available / mib, view.size / mib);
  if (view.ready > 0 && *view.available < view.size) return {action::end, {}, shortage};
  const time_point again = deadline_after(view.now, memory_period);
  if (step.what == action::make || step.what == action::make_all) {
    const std::uint64_t count = std::max<std::uint64_t>(view.missing, 1);
    if (*view.available / 2 / count < view.size) return {action::wait, again, shortage};
  } else if (view.ready > 0 && (step.what == action::rest || step.until > again)) {
    step.what = action::wait;
    step.until = again;
  }
  return step;
}

ELASTIC_DECL standby_step standby_plan::next_but_for_memory(const standby_view& view) const {
  using action = standby_step::action;
  if (off_) return {action::rest, {}, "there are to be none: " + *off_};
  if (!view.may_restart) return {action::rest, {}, "no restart is left"};
  const bool is_working = view.workers == standby_view::stage::work;
  if (view.missing == 0 && is_working && view.lacks_script) return complete(view);
  if (view.missing == 0 && is_working) return review(view);
  if (view.missing == 0) return {action::rest, {}, "none is missing"};
  const bool is_early = is_working && !view.have_stepped;
  time_point due = is_early ? deadline_after(view.launched, delay_) : view.now;
  if (died_at_) due = std::max(due, deadline_after(*died_at_, delay_));
  if (view.now < due && is_early) return {action::wait, due, "the workers begin first"};
  if (view.now < due) return {action::wait, due, "one has ended"};
  const bool is_absent = view.workers == standby_view::stage::absence;
  return {is_absent ? action::make_all : action::make,
          {},
          fmt::format("{} are missing", view.missing)};
}

/// Replaces a standby that has only imported by one that has run the script. Until then it is
/// better than none.
ELASTIC_DECL standby_step standby_plan::complete(const standby_view& view) const {
  using action = standby_step::action;
  const time_point due = died_at_ ? deadline_after(*died_at_, delay_) : view.now;
  if (view.now < due) return {action::wait, due, "one has ended"};
  return {action::make, {}, "one has not run the script"};
}

/// Checks for outdated standbys at increasing intervals: few scripts import much after their first
/// steps.
ELASTIC_DECL standby_step standby_plan::review(const standby_view& view) const {
  using action = standby_step::action;
  if (!view.outdated) return {action::rest, {}, "none is missing"};
  time_point due = deadline_after(view.launched, review_after_);
  if (died_at_) due = std::max(due, deadline_after(*died_at_, delay_));
  if (view.now < due || *view.outdated == 0) return {action::wait, due, "none is missing"};
  return {action::make, {}, fmt::format("{} lack what workers have imported", *view.outdated)};
}

}  // namespace elastic::detail
