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

/// What a `standby_set` knows when it chooses its next step.
struct standby_view {
  time_point now;
  /// When workers were started last.
  time_point launched;
  /// Whether workers that end may be started again.
  bool may_restart = true;
  /// What the workers do meanwhile.
  enum class stage {
    /// They run: the first standby comes after the delay, and one after the other.
    work,
    /// They run only until their standbys are ready: none waits for the delay.
    last_steps,
    /// None of them runs, so that standbys disturb nobody: all at once.
    absence,
  };
  stage workers = stage::work;
  /// Workers that have no standby.
  std::size_t missing = 0;
  /// Workers that have imported more since their standby was made; none if that is not known.
  std::optional<std::size_t> outdated = {};
  /// Those that wait.
  std::size_t ready = 0;
  /// The bytes that processes can still take; none: nobody knows.
  std::optional<std::uint64_t> available = {};
  /// The bytes that a standby takes, as far as is known.
  std::uint64_t size = 0;
};

/// What it does next, and the half sentence that says why.
struct standby_step {
  enum class action {
    /// Nothing, until something else happens.
    rest,
    /// Nothing, until then at most.
    wait,
    /// Make one.
    make,
    /// Make all that are missing.
    make_all,
    /// End those that wait, since the job needs their memory.
    end,
  };
  action what = action::rest;
  time_point until = {};
  std::string reason;
};

/// Decides when standbys are made and when no more are, from what it is told. Pure: it looks at no
/// clock.
class standby_plan {
 public:
  /// How often it is looked whether there is memory for standbys.
  static constexpr std::chrono::seconds memory_period{10};
  /// How long a node waits at most for its standbys before it joins a job that may run without it.
  static constexpr std::chrono::seconds join_patience{30};
  /// After how long a meeting counts as one that waits for others: time to make standbys.
  static constexpr std::chrono::milliseconds meeting_patience{100};

  explicit standby_plan(duration delay) : delay_(delay) { begin_attempt(); }

  /// Workers are started: their standbys will soon be outdated.
  ELASTIC_DECL void begin_attempt();

  /// One has imported and waits.
  void ready() { deaths_ = 0; }

  /// It was looked at `now` whether any is outdated, and none was.
  ELASTIC_DECL void reviewed(const standby_view& view);

  /// One has ended, or broke the protocol, before it was ready. Three in a row: no more are made.
  ELASTIC_DECL void died(std::string reason, time_point now);

  /// One has ended while it waited. The tenth (`limits::standby_losses`): no more are made.
  ELASTIC_DECL void lost(std::string reason, time_point now);

  /// One could not become a worker. In a second attempt for the same reason: no more are made.
  ELASTIC_DECL void refused(const std::string& reason, int attempt);

  /// A module that no standby imports from now on.
  /// Result: whether it is a new one; if not, no more standbys are made.
  ELASTIC_DECL bool dropped(const std::string& module);

  /// There cannot be any.
  ELASTIC_DECL void give_up(std::string reason);

  /// Why no more are made; none if they are.
  const std::optional<std::string>& off() const { return off_; }

  const std::set<std::string>& dropped_modules() const { return dropped_; }

  ELASTIC_DECL standby_step next(const standby_view& view) const;

 private:
  ELASTIC_DECL standby_step next_but_for_memory(const standby_view& view) const;
  ELASTIC_DECL standby_step review(const standby_view& view) const;

  duration delay_;
  /// How long after the workers' start it is looked whether standbys are outdated.
  duration review_after_{};
  int deaths_ = 0;
  int losses_ = 0;
  std::optional<time_point> died_at_;
  /// The attempt in which there was each.
  std::map<std::string, int> refusals_;
  std::set<std::string> dropped_;
  std::optional<std::string> off_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/standby_plan.ipp>
#endif
