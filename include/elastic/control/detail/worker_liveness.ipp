// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/control/detail/worker_liveness.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL learned_timeouts::learned_timeouts(const liveness_settings& settings)
    : factor_(settings.learn_timeouts), least_(settings.least_learned) {}

ELASTIC_DECL void learned_timeouts::observe(const std::string& name, duration took) {
  if (factor_ <= 0) return;
  auto entry = seen_.find(name);
  if (entry == seen_.end()) {
    if (seen_.size() >= limits::learned_names) return;
    entry = seen_.emplace(name, record()).first;
  }
  ++entry->second.count;
  entry->second.longest = std::max(entry->second.longest, took);
}

ELASTIC_DECL std::optional<duration> learned_timeouts::of(const std::string& name) const {
  const auto entry = seen_.find(name);
  if (entry == seen_.end() || entry->second.count < enough) return std::nullopt;
  const double allowed = static_cast<double>(entry->second.longest.count()) * factor_;
  constexpr auto most = std::chrono::duration_cast<duration>(std::chrono::hours(24 * 365));
  const double bounded = std::min(allowed, static_cast<double>(most.count()));
  return std::max(duration(static_cast<duration::rep>(bounded)), least_);
}

ELASTIC_DECL worker_liveness::worker_liveness(const liveness_settings& settings,
                                              learned_timeouts& learned)
    : settings_(settings), learned_(&learned) {}

ELASTIC_DECL void worker_liveness::start(time_point now) {
  *this = worker_liveness(settings_, *learned_);
  running_ = true;
  started_ = now;
}

ELASTIC_DECL void worker_liveness::beat(time_point now, std::optional<duration> timeout) {
  if (timeout) own_timeout_ = timeout;
  if (last_sign_ && !awaits_section() && !paused_) {
    learned_->observe(beats_name, now - *last_sign_);
  }
  last_sign_ = now;
}

ELASTIC_DECL bool worker_liveness::enter(time_point now, const std::string& name,
                                         std::optional<duration> timeout) {
  const auto position = find_section(name);
  if (position != sections_.end()) sections_.erase(position);
  if (sections_.size() >= limits::worker_sections) return false;
  if (!timeout) timeout = learned_->of(section_name(name));
  sections_.push_back({name, now, timeout});
  sign_of_life(now);
  return true;
}

ELASTIC_DECL void worker_liveness::leave(time_point now, const std::string& name) {
  const auto position = find_section(name);
  if (position == sections_.end()) return;
  if (!paused_) learned_->observe(section_name(name), now - position->entered);
  sections_.erase(position);
  sign_of_life(now);
}

ELASTIC_DECL bool worker_liveness::arm(time_point now, const std::string& name, duration after,
                                       int signal) {
  if (timers_.count(name) == 0 && timers_.size() >= limits::worker_timers) return false;
  timers_[name] = {deadline_after(now, after), after, signal};
  return true;
}

ELASTIC_DECL void worker_liveness::pause(time_point now) {
  if (!paused_) paused_ = now;
}

ELASTIC_DECL void worker_liveness::resume(time_point now) {
  if (const auto since = std::exchange(paused_, std::nullopt)) shift(now - *since);
}

ELASTIC_DECL void worker_liveness::renew(time_point now) {
  started_ = now;
  if (last_sign_) last_sign_ = now;
  for (section& entry : sections_) entry.entered = now;
  for (auto& [name, entry] : timers_) entry.expiry = deadline_after(now, entry.after);
  if (paused_) paused_ = now;
}

ELASTIC_DECL std::optional<liveness_verdict> worker_liveness::judge(time_point now) const {
  const due first = first_due();
  if (first.time > now) return std::nullopt;
  liveness_verdict verdict;
  switch (first.what) {
    case due::kind::first_heartbeat:
      verdict.reason =
          fmt::format("no heartbeat since its start {} ago (allowed {})", text_of(now - started_),
                      text_of(settings_.first_heartbeat_timeout));
      break;
    case due::kind::heartbeat:
      verdict.reason = fmt::format("no heartbeat for {} (allowed {}){}", text_of(now - *last_sign_),
                                   text_of(*beat_timeout()), where());
      break;
    case due::kind::section:
      verdict.reason =
          fmt::format("section '{}' took {} (allowed {})", first.section->name,
                      text_of(now - first.section->entered), text_of(*first.section->timeout));
      break;
    case due::kind::timer:
      verdict.reason = fmt::format("timer '{}' expired after {}", *first.timer_name,
                                   text_of(first.armed->after));
      verdict.signal = first.armed->signal;
      break;
  }
  return verdict;
}

ELASTIC_DECL std::string worker_liveness::text_of(duration span) {
  const double seconds = std::chrono::duration<double>(span).count();
  if (seconds < 1) return fmt::format("{:.2g} s", seconds);
  const double tenths = static_cast<double>(static_cast<long long>(seconds * 10 + 0.5)) / 10;
  return fmt::format("{:g} s", tenths);
}

ELASTIC_DECL void worker_liveness::shift(duration span) {
  started_ += span;
  if (last_sign_) *last_sign_ += span;
  for (section& entry : sections_) entry.entered += span;
  for (auto& [name, entry] : timers_) entry.expiry = deadline_after(entry.expiry, span);
}

ELASTIC_DECL auto worker_liveness::find_section(const std::string& name)
    -> std::vector<section>::iterator {
  return std::find_if(sections_.begin(), sections_.end(),
                      [&](const section& entry) { return entry.name == name; });
}

ELASTIC_DECL bool worker_liveness::awaits_section() const {
  return std::any_of(sections_.begin(), sections_.end(),
                     [](const section& entry) { return entry.timeout.has_value(); });
}

ELASTIC_DECL void worker_liveness::sign_of_life(time_point now) {
  if (last_sign_) last_sign_ = now;
}

ELASTIC_DECL std::optional<duration> worker_liveness::beat_timeout() const {
  if (own_timeout_) return own_timeout_;
  if (settings_.heartbeat_timeout > duration::zero()) return settings_.heartbeat_timeout;
  return learned_->of(beats_name);
}

ELASTIC_DECL std::string worker_liveness::where() const {
  return sections_.empty() ? std::string() : fmt::format(" in section '{}'", sections_.back().name);
}

ELASTIC_DECL auto worker_liveness::first_due() const -> due {
  due first;
  // The workers may be halted by a debugger, and their own time-outs with them.
  const bool is_off = settings_.heartbeat_timeout == duration::max();
  if (!running_ || paused_ || is_off) return first;
  const auto consider = [&first](time_point moment, due::kind kind) {
    if (moment >= first.time) return false;
    first = due();
    first.time = moment;
    first.what = kind;
    return true;
  };
  if (!last_sign_ && settings_.first_heartbeat_timeout > duration::zero()) {
    consider(deadline_after(started_, settings_.first_heartbeat_timeout),
             due::kind::first_heartbeat);
  }
  if (last_sign_ && !awaits_section()) {
    const auto allowed = beat_timeout();
    if (allowed) consider(deadline_after(*last_sign_, *allowed), due::kind::heartbeat);
  }
  for (const section& entry : sections_) {
    if (entry.timeout &&
        consider(deadline_after(entry.entered, *entry.timeout), due::kind::section)) {
      first.section = &entry;
    }
  }
  for (const auto& [name, entry] : timers_) {
    if (consider(entry.expiry, due::kind::timer)) {
      first.timer_name = &name;
      first.armed = &entry;
    }
  }
  return first;
}

}  // namespace elastic::detail
