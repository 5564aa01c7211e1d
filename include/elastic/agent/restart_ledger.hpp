// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/restart_terms.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// Whether the workers start again, when, and the half sentence that says why.
struct restart_decision {
  bool restart = false;
  std::string reason;
  duration delay = duration::zero();
};

/// Decides whether and when the workers start again, from what it was told about the job. Pure: it
/// looks at no clock. A change of the membership is nobody's failure and is free.
class restart_ledger {
 public:
  explicit restart_ledger(int max_restarts, restart_terms terms = {})
      : max_restarts_(max_restarts), terms_(std::move(terms)) {}

  /// They failed once more.
  void failed(time_point now) { count(failures_ + 1, now); }

  /// They have failed so often by now, as somebody says who counts for all nodes.
  void count(int failures, time_point now) {
    if (failures > failures_) note_failures(failures - failures_, now);
    failures_ = failures;
  }

  /// The count to begin with, of failures of which nobody here knows when they were.
  void begin_at(int failures) { failures_ = failures; }

  /// The workers run.
  void started(time_point now) { started_ = now; }

  /// How often workers of the job have failed.
  int failures() const { return failures_; }

  /// Whether the restarts do not reach for the failures that were counted.
  bool is_used_up(time_point now) const { return used(now) > max_restarts_; }

  /// @param ended  how the worker ended that failed first; none where it was on another node
  restart_decision decide(change_kind why, std::optional<exit_status> ended,
                          time_point now) const {
    if (why != change_kind::worker_failed) {
      return {true, "the membership changed; this uses up no restart"};
    }
    if (max_restarts_ == 0) return {false, "no restarts were allowed (--max-restarts 0)"};
    if (ended && terms_.never_after.contains(*ended)) {
      return {false, fmt::format("no restart after {}", ended->text())};
    }
    if (ended && !terms_.only_after.empty() && !terms_.only_after.contains(*ended)) {
      return {false, fmt::format("{} is not among the ends after which there is a restart",
                                 ended->text())};
    }
    const bool is_windowed = terms_.window > duration::zero();
    const std::string within =
        is_windowed ? fmt::format(" within {:g} s", in_seconds(terms_.window)) : "";
    if (is_used_up(now)) {
      return {false, fmt::format("all {} restarts{} are used up", max_restarts_, within)};
    }
    restart_decision decision{true, {}, delay()};
    decision.reason = fmt::format("restart {} of {}{}", used(now), max_restarts_, within);
    if (decision.delay > duration::zero()) {
      decision.reason += fmt::format(", after {:g} s", in_seconds(decision.delay));
    }
    return decision;
  }

 private:
  struct noted {
    time_point at;
    int count;
  };

  static double in_seconds(duration span) { return std::chrono::duration<double>(span).count(); }

  void note_failures(int count, time_point now) {
    recent_.push_back({now, count});
    std::erase_if(recent_, [&](const noted& one) { return one.at <= now - terms_.window; });
    streak_ = was_healthy(now) ? 1 : streak_ + 1;
    started_.reset();
  }

  bool was_healthy(time_point now) const {
    return started_ && now - *started_ >= terms_.healthy_uptime;
  }

  std::int64_t used(time_point now) const {
    if (terms_.window == duration::zero()) return failures_;
    std::int64_t sum = 0;
    for (const noted& one : recent_) {
      if (one.at > now - terms_.window) sum += one.count;
    }
    return sum;
  }

  duration delay() const {
    duration wait = std::min(terms_.delay, terms_.max_delay);
    for (int one = 1; one < streak_ && wait < terms_.max_delay; ++one) {
      wait = wait > terms_.max_delay / 2 ? terms_.max_delay : wait * 2;
    }
    return wait;
  }

  int max_restarts_;
  restart_terms terms_;
  int failures_ = 0;
  /// The failures within the window.
  std::vector<noted> recent_;
  std::optional<time_point> started_;
  int streak_ = 0;
};

}  // namespace elastic
