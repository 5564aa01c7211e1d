// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace elastic::detail {

/// The facts from which a `standby_set` chooses its next step.
struct standby_view {
  time_point now;
  /// The time at which workers were started last.
  time_point launched;
  /// Whether workers that end may be restarted.
  bool may_restart = true;
  /// The stage of the workers.
  enum class stage {
    /// They run: the first standby is made after the delay, or after the first step of all, and
    /// then one after the other.
    work,
    /// They run only until their standbys are ready: there is no delay.
    last_steps,
    /// No worker runs, so standbys disturb none: all are made at once.
    absence,
  };
  stage workers = stage::work;
  /// Whether each worker of the node has reported a step, so that standbys need no delay.
  bool have_stepped = false;
  /// Standbys that are still to be made.
  std::size_t missing = 0;
  /// Standbys whose workers have imported more since they were made; empty if unknown.
  std::optional<std::size_t> outdated = {};
  /// Whether a waiting standby has only imported, although new standbys run the script.
  bool lacks_script = false;
  /// Standbys that wait.
  std::size_t ready = 0;
  /// The available memory in bytes; empty: unknown.
  std::optional<std::uint64_t> available = {};
  /// The memory of one standby in bytes, as far as known.
  std::uint64_t size = 0;
};

/// The next step of a `standby_set`, and a clause that gives the reason.
struct standby_step {
  enum class action {
    /// Wait until something else happens.
    rest,
    /// Wait at most until `until`.
    wait,
    /// Make one standby.
    make,
    /// Make all missing standbys.
    make_all,
    /// End one of the waiting standbys, since the job needs its memory.
    end,
  };
  action what = action::rest;
  time_point until = {};
  std::string reason;
};

/// Decides when standbys are made, and when no more are. Pure: it reads no clock.
class standby_plan {
 public:
  /// How often available memory is checked.
  static constexpr std::chrono::seconds memory_period{10};
  /// How long a node waits for its standbys before it joins a job that may run without it.
  static constexpr std::chrono::seconds join_patience{30};
  /// After this time in the rendezvous, the node probably waits for others: time to make standbys.
  static constexpr std::chrono::milliseconds meeting_patience{100};

  explicit standby_plan(duration delay) : delay_(delay) { begin_attempt(); }

  /// Notes that workers start, which soon makes their standbys outdated.
  ELASTIC_DECL void begin_attempt();

  /// Notes that a standby has finished its imports and waits.
  void ready() { deaths_ = 0; }

  /// Notes that no standby was outdated at the time of this view.
  ELASTIC_DECL void reviewed(const standby_view& view);

  /// Notes that a standby ended or broke the protocol before it was ready. After three in a row, no
  /// more are made.
  ELASTIC_DECL void died(std::string reason, time_point now);

  /// Notes that a standby ended while it waited. After the tenth (`limits::standby_losses`), no
  /// more are made.
  ELASTIC_DECL void lost(std::string reason, time_point now);

  /// Notes that a standby could not become a worker. After a second attempt with the same reason,
  /// no more are made.
  ELASTIC_DECL void refused(const std::string& reason, int attempt);

  /// Notes a module that no standby imports from now on. Result: whether the module is new. If it
  /// is not, a standby has ignored the list, and no more standbys are made.
  ELASTIC_DECL bool dropped(const std::string& module);

  /// Whether a worker that must start waits for a standby that is being made. It does if the
  /// standby has done more than half of its work.
  /// @param spent  the processor time that it has used
  /// @param all  the processor time that a whole one takes; 0: unknown
  static bool is_worth_waiting(duration spent, duration all) {
    return all > duration::zero() && spent > all / 2;
  }

  /// Notes that standbys are impossible.
  ELASTIC_DECL void give_up(std::string reason);

  /// The reason why no more standbys are made; empty if they are.
  const std::optional<std::string>& off() const { return off_; }

  const std::set<std::string>& dropped_modules() const { return dropped_; }

  ELASTIC_DECL standby_step next(const standby_view& view) const;

 private:
  ELASTIC_DECL standby_step next_but_for_memory(const standby_view& view) const;
  ELASTIC_DECL standby_step complete(const standby_view& view) const;
  ELASTIC_DECL standby_step review(const standby_view& view) const;

  duration delay_;
  /// The time after the workers' start at which standbys are checked for being outdated.
  duration review_after_{};
  int deaths_ = 0;
  int losses_ = 0;
  std::optional<time_point> died_at_;
  /// The attempt of each refusal.
  std::map<std::string, int> refusals_;
  std::set<std::string> dropped_;
  std::optional<std::string> off_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/standby_plan.ipp>
#endif
