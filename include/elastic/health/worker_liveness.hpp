// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// After how long a worker that says nothing counts as hung. Zero means: never.
struct liveness_settings {
  /// From its start to its first heartbeat.
  duration first_heartbeat{};
  /// From one heartbeat to the next. What a worker names itself comes before it.
  duration heartbeat{};
  /// Where nothing was named: the longest time seen between two heartbeats, and for each section
  /// the longest that it took, times this factor; 0: nothing is learned. At least 1 otherwise.
  double learn_factor = 0;
  /// What is learned is never shorter than this.
  duration least_learned = std::chrono::seconds(1);
};

/// Time-outs from what was observed: the longest time times a factor.
///
/// Nothing is concluded from fewer than `enough` observations. The workers of a node and its
/// attempts share one: what took its time in one is normal in the other.
class learned_timeouts {
 public:
  static constexpr int enough = 5;

  explicit learned_timeouts(const liveness_settings& settings = {})
      : factor_(settings.learn_factor), least_(settings.least_learned) {}

  void observe(const std::string& what, duration took) {
    if (factor_ <= 0) return;
    auto found = seen_.find(what);
    if (found == seen_.end()) {
      if (seen_.size() >= limits::learned_names) return;
      found = seen_.emplace(what, record()).first;
    }
    ++found->second.count;
    found->second.longest = std::max(found->second.longest, took);
  }

  /// None where too little was seen.
  std::optional<duration> of(const std::string& what) const {
    const auto found = seen_.find(what);
    if (found == seen_.end() || found->second.count < enough) return std::nullopt;
    const double allowed = static_cast<double>(found->second.longest.count()) * factor_;
    constexpr auto most = std::chrono::duration_cast<duration>(std::chrono::hours(24 * 365));
    const double bounded = std::min(allowed, static_cast<double>(most.count()));
    return std::max(duration(static_cast<duration::rep>(bounded)), least_);
  }

 private:
  struct record {
    int count = 0;
    duration longest{};
  };

  double factor_;
  duration least_;
  std::map<std::string, record> seen_;
};

/// Why a worker counts as hung, and what ends it.
struct liveness_verdict {
  /// "no heartbeat for 12.3 s (allowed 10 s) in section 'all_reduce'".
  std::string reason;
  /// The signal for it: SIGKILL, unless a timer of PyTorch's client named another.
  int signal = SIGKILL;
};

/// Judges by heartbeats, sections and timers whether one worker is hung. Pure: what happened and
/// the time go in, the verdict and the next time to ask come out.
///
/// - **Heartbeats.** From the first one on, the next is due within the worker's own time-out, else
///   the settings', else the learned one; where there is none of the three, nothing is expected.
///   Sections that begin or end count as heartbeats once there was one.
/// - **Sections.** One with a time-out, its own or learned, has to end by then; no heartbeat is due
///   meanwhile. Any other only says where a worker hangs.
/// - **Timers** stand by themselves. The same name again starts one anew.
///
/// Nothing is due while the worker is paused. Clocks stand still meanwhile.
class worker_liveness {
 public:
  /// `learned` must outlive this.
  worker_liveness(const liveness_settings& settings, learned_timeouts& learned)
      : settings_(settings), learned_(&learned) {}

  /// The worker runs from now on; what was known of one before is forgotten.
  void start(time_point now) {
    *this = worker_liveness(settings_, *learned_);
    running_ = true;
    started_ = now;
  }

  /// It ended, or wants to be watched no longer.
  void end() { running_ = false; }

  void beat(time_point now, std::optional<duration> timeout = std::nullopt) {
    if (timeout) own_timeout_ = timeout;
    if (last_sign_ && !awaits_section() && !paused_) {
      learned_->observe(beats_name, now - *last_sign_);
    }
    last_sign_ = now;
  }

  /// Result: false where too many sections are open already.
  bool enter(time_point now, const std::string& name, std::optional<duration> timeout) {
    const auto found = find_section(name);
    if (found != sections_.end()) sections_.erase(found);
    if (sections_.size() >= limits::worker_sections) return false;
    if (!timeout) timeout = learned_->of(section_name(name));
    sections_.push_back({name, now, timeout});
    sign_of_life(now);
    return true;
  }

  /// Nothing happens where that section is not open.
  void leave(time_point now, const std::string& name) {
    const auto found = find_section(name);
    if (found == sections_.end()) return;
    if (!paused_) learned_->observe(section_name(name), now - found->entered);
    sections_.erase(found);
    sign_of_life(now);
  }

  /// Result: false where too many timers are armed already.
  bool arm(time_point now, const std::string& name, duration after, int signal = SIGKILL) {
    if (timers_.count(name) == 0 && timers_.size() >= limits::worker_timers) return false;
    timers_[name] = {bounded_sum(now, after), after, signal};
    return true;
  }

  void release(const std::string& name) { timers_.erase(name); }

  void pause(time_point now) {
    if (!paused_) paused_ = now;
  }
  void resume(time_point now) {
    if (const auto since = std::exchange(paused_, std::nullopt)) shift(now - *since);
  }

  /// Whatever is due gets its whole time from now on: the watch itself stood still (a machine that
  /// slept), and nobody knows who else did.
  void renew(time_point now) {
    started_ = now;
    if (last_sign_) last_sign_ = now;
    for (section& one : sections_) one.entered = now;
    for (auto& [name, one] : timers_) one.expiry = bounded_sum(now, one.after);
    if (paused_) paused_ = now;
  }

  /// When to judge again; `time_point::max()` where nothing is due.
  time_point next_expiry() const { return first_due().at; }

  /// None while the worker is in time.
  std::optional<liveness_verdict> judge(time_point now) const {
    const due first = first_due();
    if (first.at > now) return std::nullopt;
    liveness_verdict verdict;
    switch (first.what) {
      case due::kind::first_heartbeat:
        verdict.reason = fmt::format("no heartbeat since its start {} ago (allowed {})",
                                     text_of(now - started_), text_of(settings_.first_heartbeat));
        break;
      case due::kind::heartbeat:
        verdict.reason =
            fmt::format("no heartbeat for {} (allowed {}){}", text_of(now - *last_sign_),
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

  /// "12.3 s"; "10 s" for whole seconds.
  static std::string text_of(duration span) {
    const double seconds = std::chrono::duration<double>(span).count();
    const double tenths = static_cast<double>(static_cast<long long>(seconds * 10 + 0.5)) / 10;
    return fmt::format("{:g} s", tenths);
  }

 private:
  // Clocks stood still for so long.
  void shift(duration span) {
    started_ += span;
    if (last_sign_) *last_sign_ += span;
    for (section& one : sections_) one.entered += span;
    for (auto& [name, one] : timers_) one.expiry = bounded_sum(one.expiry, span);
  }

  struct section {
    std::string name;
    time_point entered;
    std::optional<duration> timeout;
  };
  struct timer {
    time_point expiry;
    duration after{};
    int signal = SIGKILL;
  };
  /// What is due first.
  struct due {
    enum class kind { first_heartbeat, heartbeat, section, timer };
    time_point at = time_point::max();
    kind what = kind::heartbeat;
    const elastic::worker_liveness::section* section = nullptr;
    const std::string* timer_name = nullptr;
    const timer* armed = nullptr;
  };

  static constexpr const char* beats_name = "heartbeat";
  static std::string section_name(const std::string& name) { return "section " + name; }

  static time_point bounded_sum(time_point from, duration span) {
    return span < time_point::max() - from ? from + span : time_point::max();
  }

  std::vector<section>::iterator find_section(const std::string& name) {
    return std::find_if(sections_.begin(), sections_.end(),
                        [&](const section& one) { return one.name == name; });
  }

  // A section that has a time-out takes the place of heartbeats.
  bool awaits_section() const {
    return std::any_of(sections_.begin(), sections_.end(),
                       [](const section& one) { return one.timeout.has_value(); });
  }

  void sign_of_life(time_point now) {
    if (last_sign_) last_sign_ = now;
  }

  std::optional<duration> beat_timeout() const {
    if (own_timeout_) return own_timeout_;
    if (settings_.heartbeat > duration::zero()) return settings_.heartbeat;
    return learned_->of(beats_name);
  }

  std::string where() const {
    return sections_.empty() ? std::string()
                             : fmt::format(" in section '{}'", sections_.back().name);
  }

  due first_due() const {
    due first;
    if (!running_ || paused_) return first;
    const auto consider = [&first](time_point at, due::kind what) {
      if (at >= first.at) return false;
      first = due();
      first.at = at;
      first.what = what;
      return true;
    };
    if (!last_sign_ && settings_.first_heartbeat > duration::zero()) {
      consider(bounded_sum(started_, settings_.first_heartbeat), due::kind::first_heartbeat);
    }
    if (last_sign_ && !awaits_section()) {
      const auto allowed = beat_timeout();
      if (allowed) consider(bounded_sum(*last_sign_, *allowed), due::kind::heartbeat);
    }
    for (const section& one : sections_) {
      if (one.timeout && consider(bounded_sum(one.entered, *one.timeout), due::kind::section)) {
        first.section = &one;
      }
    }
    for (const auto& [name, one] : timers_) {
      if (consider(one.expiry, due::kind::timer)) {
        first.timer_name = &name;
        first.armed = &one;
      }
    }
    return first;
  }

  liveness_settings settings_;
  learned_timeouts* learned_;
  bool running_ = false;
  time_point started_{};
  /// The last heartbeat, or what counts as one.
  std::optional<time_point> last_sign_;
  std::optional<duration> own_timeout_;
  std::vector<section> sections_;
  std::map<std::string, timer> timers_;
  std::optional<time_point> paused_;
};

}  // namespace elastic
