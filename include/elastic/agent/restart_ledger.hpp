// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_spec.hpp>
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

/// Decides whether and when the workers restart, from the failures and steps reported to it. Pure:
/// it reads no clock. A membership change does not count as a failure.
class restart_ledger {
 public:
  /// Whether the workers restart, when, and a clause that says why.
  struct decision {
    bool restart = false;
    std::string reason;
    duration delay = duration::zero();
    /// No restart, and another run of the whole job would fail in the same way.
    bool is_hopeless = false;
  };

  /// @param name  the name of `max_restarts` in the reasons of decisions
  ELASTIC_DECL explicit restart_ledger(int max_restarts, worker_spec::restart_terms terms = {},
                                       std::string name = "max_restarts");

  /// Counts one more failure of the workers.
  void failed(time_point now) { count(failures_ + 1, now); }

  /// Sets the number of failures so far, as counted for all nodes.
  ELASTIC_DECL void count(int failures, time_point now);

  /// Sets the initial count, of failures whose times are unknown.
  void begin_at(int failures) { failures_ = failures; }

  /// Notes that the workers have started.
  ELASTIC_DECL void started(time_point now);

  /// The furthest step that a worker of this attempt has reported; empty if none did.
  void reached(std::optional<std::int64_t> step) { reached_ = step; }

  /// Whether workers have failed and progress is required (`restart_terms::while_progress`), but no
  /// attempt has reported a step: then only the number of failures ends a restart loop.
  bool lacks_steps() const { return terms_.while_progress > 0 && failures_ > 0 && !furthest_; }

  /// How often workers of the job have failed.
  int failures() const { return failures_; }

  /// Whether more failures happened than restarts are allowed.
  bool is_used_up(time_point now) const { return used(now) > max_restarts_; }

  /// Whether one more failure would lead to a restart, as far as the number of failures is
  /// concerned.
  bool has_restart_left(time_point now) const { return used(now) < max_restarts_; }

  /// @param ended  how the first failed worker ended; empty if it was on another node
  ELASTIC_DECL decision decide(rendezvous_change::cause why, std::optional<exit_status> ended,
                               time_point now) const;

 private:
  struct noted {
    time_point time;
    int count;
  };

  static double in_seconds(duration span) { return std::chrono::duration<double>(span).count(); }

  ELASTIC_DECL void count_failures(int count, time_point now);
  ELASTIC_DECL bool take_progress();
  ELASTIC_DECL bool was_healthy(time_point now) const;
  ELASTIC_DECL std::int64_t used(time_point now) const;
  ELASTIC_DECL duration delay() const;

  int max_restarts_;
  worker_spec::restart_terms terms_;
  std::string name_;
  int failures_ = 0;
  /// The failures within the window.
  std::vector<noted> recent_;
  std::optional<time_point> started_;
  int streak_ = 0;
  /// The furthest step of the current attempt, and that of all earlier ones.
  std::optional<std::int64_t> reached_;
  std::optional<std::int64_t> furthest_;
  int without_progress_ = 0;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/restart_ledger.ipp>
#endif
