// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/restart_ledger.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL restart_ledger::restart_ledger(int max_restarts, worker_spec::restart_terms terms,
                                            std::string name)
    : max_restarts_(max_restarts), terms_(std::move(terms)), name_(std::move(name)) {}

ELASTIC_DECL void restart_ledger::count(int failures, time_point now) {
  if (failures > failures_) count_failures(failures - failures_, now);
  failures_ = failures;
}

ELASTIC_DECL restart_ledger::decision restart_ledger::decide(rendezvous_change::cause why,
                                                             std::optional<exit_status> ended,
                                                             time_point now) const {
  if (why != rendezvous_change::cause::worker_failed) {
    return {true, "the membership changed; this uses up no restart"};
  }
  if (max_restarts_ == 0) {
    return {false, fmt::format("no restarts were allowed ({} 0)", name_)};
  }
  if (ended && terms_.never_after.contains(*ended)) {
    return {false, fmt::format("no restart after {}", ended->text())};
  }
  if (ended && !terms_.only_after.empty() && !terms_.only_after.contains(*ended)) {
    return {false,
            fmt::format("{} is not among the ends after which there is a restart", ended->text())};
  }
  if (terms_.while_progress > 0 && without_progress_ >= terms_.while_progress) {
    restart_ledger::decision hopeless;
    hopeless.reason = fmt::format("{} attempts in a row came no further than step {}",
                                  without_progress_, *furthest_);
    hopeless.is_hopeless = true;
    return hopeless;
  }
  const bool is_windowed = terms_.window > duration::zero();
  const std::string window =
      is_windowed ? fmt::format(" within {:g} s", in_seconds(terms_.window)) : "";
  if (is_used_up(now)) {
    return {false, max_restarts_ == 1
                       ? fmt::format("the only restart{} has been used", window)
                       : fmt::format("all {} restarts{} have been used", max_restarts_, window)};
  }
  decision next{true, {}, delay()};
  next.reason = fmt::format("restart {} of {}{}", used(now), max_restarts_, window);
  if (next.delay > duration::zero()) {
    next.reason += fmt::format(", after {:g} s", in_seconds(next.delay));
  }
  return next;
}

ELASTIC_DECL void restart_ledger::started(time_point now) {
  take_progress();
  started_ = now;
}

/// Whether the attempt reached a further step than all before it.
ELASTIC_DECL bool restart_ledger::take_progress() {
  const std::optional<std::int64_t> step = std::exchange(reached_, std::nullopt);
  if (!step || (furthest_ && *step <= *furthest_)) return false;
  furthest_ = step;
  without_progress_ = 0;
  return true;
}

ELASTIC_DECL void restart_ledger::count_failures(int count, time_point now) {
  // An attempt counts once, even if its failures become known one after the other.
  if (started_ && !take_progress() && furthest_) ++without_progress_;
  recent_.push_back({now, count});
  std::erase_if(recent_, [&](const noted& entry) { return entry.time <= now - terms_.window; });
  streak_ = was_healthy(now) ? 1 : streak_ + 1;
  started_.reset();
}

ELASTIC_DECL bool restart_ledger::was_healthy(time_point now) const {
  return started_ && now - *started_ >= terms_.healthy_uptime;
}

ELASTIC_DECL std::int64_t restart_ledger::used(time_point now) const {
  if (terms_.window == duration::zero()) return failures_;
  std::int64_t sum = 0;
  for (const noted& entry : recent_) {
    if (entry.time > now - terms_.window) sum += entry.count;
  }
  return sum;
}

ELASTIC_DECL duration restart_ledger::delay() const {
  duration wait = std::min(terms_.delay, terms_.delay_max);
  for (int doublings = 1; doublings < streak_ && wait < terms_.delay_max; ++doublings) {
    wait = wait > terms_.delay_max / 2 ? terms_.delay_max : wait * 2;
  }
  return wait;
}

}  // namespace elastic
