// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/stall_watch.hpp>

#include <algorithm>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL stall_watch::stall_watch(const stall_watch_options& options, time_point now)
    : options_(options), progressed_(now), rests_until_(now) {}

ELASTIC_DECL bool stall_watch::step(std::int64_t number, time_point now) {
  if (number <= last_step_) return false;
  // A step that ended a stall does not count as a usual length.
  if (stepped_ && !is_stalled_) longest_step_ = std::max(longest_step_, now - *stepped_);
  last_step_ = number;
  stepped_ = now;
  progressed_ = std::max(progressed_, now);
  return std::exchange(is_stalled_, false);
}

ELASTIC_DECL duration stall_watch::patience() const {
  if (options_.stall_after) return *options_.stall_after;
  return std::max(options_.least, options_.step_factor * longest_step_);
}

ELASTIC_DECL time_point stall_watch::wake_at() const {
  if (is_stalled_) return time_point::max();
  return std::max(deadline_after(progressed_, patience()), rests_until_);
}

ELASTIC_DECL bool stall_watch::shows_stall(const stall_look& found) const {
  if (found.longest_wait) return *found.longest_wait >= patience();
  // Without recorders, idleness before the first step means nothing: the job may be loading its
  // data.
  return found.is_idle && (stepped_.has_value() || options_.stall_after.has_value());
}

ELASTIC_DECL bool stall_watch::looked(const stall_look& found, time_point now) {
  if (is_stalled_) return false;
  if (shows_stall(found)) {
    is_stalled_ = true;
    stalled_since_ = stepped_.value_or(now);
    if (found.longest_wait) {
      stalled_since_ = std::max(stepped_.value_or(time_point::min()), now - *found.longest_wait);
    }
    return true;
  }
  // The earliest time at which an outstanding operation can have lasted that long.
  const duration rest = patience() - found.longest_wait.value_or(duration::zero());
  rests_until_ = deadline_after(now, std::max(rest, patience() / 2));
  return false;
}

}  // namespace elastic::detail
