// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/worker_watch.hpp>

#include <elastic/telemetry/worker_progress.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Shares of one processor. Below the first, a worker is idle; from the second on, it works; a
/// median from the third on shows that the workers compute.
inline constexpr double idle_share = 0.02;
inline constexpr double working_share = 0.2;
inline constexpr double busy_share = 0.5;
/// A median of fewer workers means nothing.
inline constexpr std::size_t least_compared = 3;
/// How long a state must last until it is reported, in periods.
inline constexpr int idle_patience = 6;
inline constexpr int slow_patience = 12;
inline constexpr int slow_step_patience = 3;

inline double watched_seconds(duration span) { return std::chrono::duration<double>(span).count(); }

/// 0 if there are too few values to compare.
inline double median_of_workers(std::vector<double> values) {
  if (values.size() < least_compared) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The running workers as a group.
struct worker_watch::crowd {
  std::size_t running = 0;
  std::size_t working = 0;
  bool reports_steps = false;
  /// 0: unknown.
  double median_pace = 0;
  double median_share = 0;

  std::size_t others() const { return running > 0 ? running - 1 : 0; }
  std::size_t others_working(const record& entry) const { return working - (entry.works ? 1 : 0); }
};

ELASTIC_DECL std::vector<suspicion_change> worker_watch::look(
    const std::vector<std::optional<worker_sample>>& sights, time_point now) {
  const duration span = looked_ ? now - *looked_ : duration::zero();
  looked_ = now;
  records_.resize(sights.size());
  for (std::size_t index = 0; index < sights.size(); ++index) {
    records_[index].is_compared = false;
    if (!sights[index]) {
      records_[index] = {};
    } else if (records_[index].last && span > duration::zero()) {
      compare(records_[index], *sights[index], span);
    }
  }
  const crowd others = survey();
  std::vector<suspicion_change> changes;
  for (std::size_t index = 0; index < sights.size(); ++index) {
    record& entry = records_[index];
    if (!sights[index]) continue;
    if (entry.is_compared) {
      count(entry, *sights[index], others, span);
      const job_event::suspicion suspicion = judge(entry, others);
      const job_event::suspicion former = std::exchange(entry.suspicion, suspicion);
      if (suspicion != former) {
        const bool is_relieved = suspicion == job_event::suspicion::none;
        changes.push_back(
            {index, suspicion,
             is_relieved ? relief_of(former, others) : reason_of(entry, *sights[index], others)});
      }
    }
    entry.last = sights[index];
  }
  return changes;
}

ELASTIC_DECL void worker_watch::compare(record& entry, const worker_sample& sight, duration span) {
  const worker_sample& last = *entry.last;
  entry.is_compared = true;
  entry.share.reset();
  if (sight.processor_time && last.processor_time) {
    // The sum may decrease: the time of an ended process may be missing from it.
    const duration used = std::max(*sight.processor_time - *last.processor_time, duration::zero());
    entry.share = watched_seconds(used) / watched_seconds(span);
  }
  const bool has_stepped = sight.step != last.step;
  entry.works = has_stepped || entry.share.value_or(0) >= working_share;
  entry.is_active = has_stepped || sight.written != last.written ||
                    sight.processes != last.processes || entry.share.value_or(1) >= idle_share;
  if (last.step < 0 || sight.step <= last.step) return;
  constexpr double weight = 0.3;
  const double steps = static_cast<double>(sight.step) - static_cast<double>(last.step);
  const double each = watched_seconds(sight.step_at - last.step_at) / steps;
  entry.pace = entry.pace > 0 ? weight * each + (1 - weight) * entry.pace : each;
}

ELASTIC_DECL auto worker_watch::survey() const -> crowd {
  crowd sum;
  std::vector<double> paces;
  std::vector<double> shares;
  for (const record& entry : records_) {
    if (!entry.is_compared) continue;
    ++sum.running;
    if (entry.works) ++sum.working;
    if (entry.last->step >= 0) sum.reports_steps = true;
    if (entry.pace > 0) paces.push_back(entry.pace);
    if (entry.share) shares.push_back(*entry.share);
  }
  sum.median_pace = median_of_workers(std::move(paces));
  sum.median_share = median_of_workers(std::move(shares));
  return sum;
}

ELASTIC_DECL void worker_watch::count(record& entry, const worker_sample& sight,
                                      const crowd& others, duration span) const {
  const auto lengthen = [span](duration& time, bool holds) {
    time = holds ? time + span : duration::zero();
  };
  const bool uses_nothing = entry.share.value_or(1) < idle_share;
  lengthen(entry.stopped, sight.stopped != 0 && sight.stopped == entry.last->stopped);
  lengthen(entry.blocked,
           sight.blocked != 0 && sight.blocked == entry.last->blocked && uses_nothing);
  const bool others_work =
      others.others() > 0 && others.others_working(entry) * 2 >= others.others();
  // Once a worker is known to be idle, only its own activity ends that state.
  const bool is_known = entry.idle >= idle_patience * period_;
  lengthen(entry.idle, !entry.is_active && (others_work || is_known));
  bool is_slow = false;
  if (others.median_pace > 0) {
    is_slow = entry.pace > straggler_ratio * others.median_pace;
  } else if (!others.reports_steps && others.median_share >= busy_share && entry.share) {
    is_slow = *entry.share < others.median_share / 2;
  }
  lengthen(entry.slow, is_slow);
  lengthen(entry.quick, !is_slow);
}

ELASTIC_DECL job_event::suspicion worker_watch::judge(const record& entry,
                                                      const crowd& others) const {
  if (entry.stopped > duration::zero()) return job_event::suspicion::stopped;
  if (entry.blocked >= idle_patience * period_) return job_event::suspicion::blocked;
  if (entry.idle >= idle_patience * period_) return job_event::suspicion::idle;
  const int needed = others.median_pace > 0 ? slow_step_patience : slow_patience;
  const bool was_slow = entry.suspicion == job_event::suspicion::slow;
  const bool is_slow =
      was_slow ? entry.quick < slow_step_patience * period_ : entry.slow >= needed * period_;
  return is_slow ? job_event::suspicion::slow : job_event::suspicion::none;
}

/// The reason why a suspicion ended.
ELASTIC_DECL std::string worker_watch::relief_of(job_event::suspicion former, const crowd& others) {
  if (former != job_event::suspicion::slow) return "it works again";
  const bool are_shares_compared = !others.reports_steps && others.median_share >= busy_share;
  if (others.median_pace > 0 || are_shares_compared) return "it keeps up with the others";
  return "too few others work that it could be compared with";
}

ELASTIC_DECL std::string worker_watch::reason_of(const record& entry, const worker_sample& sight,
                                                 const crowd& others) {
  switch (entry.suspicion) {
    case job_event::suspicion::none: break;
    case job_event::suspicion::stopped:
      return fmt::format("process {} was stopped, by a signal or a debugger", sight.stopped);
    case job_event::suspicion::blocked:
      return fmt::format("process {} has been in uninterruptible sleep for {:.0f} s", sight.blocked,
                         watched_seconds(entry.blocked));
    case job_event::suspicion::idle:
      return fmt::format("it has done nothing for {:.0f} s, while {} of {} others worked",
                         watched_seconds(entry.idle), others.others_working(entry),
                         others.others());
    case job_event::suspicion::slow:
      if (others.median_pace > 0) {
        return fmt::format("a step takes it {:.3g} s, {:.2f} times the median", entry.pace,
                           entry.pace / others.median_pace);
      }
      return fmt::format("it got {:.0f} % of a processor, and the median worker {:.0f} %",
                         entry.share.value_or(0) * 100, others.median_share * 100);
  }
  return {};
}

}  // namespace elastic::detail
