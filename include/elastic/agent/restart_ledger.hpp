// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/restart_terms.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

/// Decides whether and when the workers start again, from what it was told about the job. Pure: it
/// looks at no clock. A change of the membership is nobody's failure and is free.
class restart_ledger {
 public:
  /// Whether the workers start again, when, and the half sentence that says why.
  struct decision {
    bool restart = false;
    std::string reason;
    duration delay = duration::zero();
    /// No restart, and a new start of the whole job would end in the same way.
    bool is_hopeless = false;
  };

  ELASTIC_DECL explicit restart_ledger(int max_restarts, restart_terms terms = {});

  /// They failed once more.
  void failed(time_point now) { count(failures_ + 1, now); }

  /// They have failed so often by now, as somebody says who counts for all nodes.
  ELASTIC_DECL void count(int failures, time_point now);

  /// The count to begin with, of failures of which nobody here knows when they were.
  void begin_at(int failures) { failures_ = failures; }

  /// The workers run.
  ELASTIC_DECL void started(time_point now);

  /// The furthest step that a worker of this attempt has reported; none if none did.
  void reached(std::optional<std::int64_t> step) { reached_ = step; }

  /// Whether workers have failed and progress is asked for (`restart_terms::while_progress`), but
  /// no attempt has reported a step: nothing ends a loop of failures then but their number.
  bool lacks_steps() const { return terms_.while_progress > 0 && failures_ > 0 && !furthest_; }

  /// How often workers of the job have failed.
  int failures() const { return failures_; }

  /// Whether the restarts do not reach for the failures that were counted.
  bool is_used_up(time_point now) const { return used(now) > max_restarts_; }

  /// Whether one more failure would lead to a restart, as far as their number decides.
  bool has_restart_left(time_point now) const { return used(now) < max_restarts_; }

  /// @param ended  how the worker ended that failed first; none if it was on another node
  ELASTIC_DECL decision decide(rendezvous_change::cause why, std::optional<exit_status> ended,
                               time_point now) const;

 private:
  struct noted {
    time_point at;
    int count;
  };

  static double in_seconds(duration span) { return std::chrono::duration<double>(span).count(); }

  ELASTIC_DECL void note_failures(int count, time_point now);
  ELASTIC_DECL bool take_progress();
  ELASTIC_DECL bool was_healthy(time_point now) const;
  ELASTIC_DECL std::int64_t used(time_point now) const;
  ELASTIC_DECL duration delay() const;

  int max_restarts_;
  restart_terms terms_;
  int failures_ = 0;
  /// The failures within the window.
  std::vector<noted> recent_;
  std::optional<time_point> started_;
  int streak_ = 0;
  /// Of the attempt that runs, and of all before.
  std::optional<std::int64_t> reached_;
  std::optional<std::int64_t> furthest_;
  int without_progress_ = 0;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/restart_ledger.ipp>
#endif
