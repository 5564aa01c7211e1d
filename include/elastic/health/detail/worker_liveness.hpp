// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/liveness_settings.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// Time-outs from what was observed: the longest time times a factor.
///
/// Nothing is concluded from fewer than `enough` observations. The workers of a node and its
/// attempts share one: what took its time in one is normal in the other.
class learned_timeouts {
 public:
  static constexpr int enough = 5;
  ELASTIC_DECL explicit learned_timeouts(const liveness_settings& settings = {});
  ELASTIC_DECL void observe(const std::string& name, duration took);

  /// None if too little was seen.
  ELASTIC_DECL std::optional<duration> of(const std::string& name) const;

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
///   the settings', else the learned one; if there is none of the three, nothing is expected.
///   Sections that begin or end count as heartbeats once there was one.
/// - **Sections.** One with a time-out, its own or learned, has to end by then; no heartbeat is due
///   meanwhile. Any other only says where a worker hangs.
/// - **Timers** stand by themselves. The same name again starts one anew.
///
/// Nothing is due while the worker is paused. Clocks stand still meanwhile.
class worker_liveness {
 public:
  /// `learned` must outlive this.
  ELASTIC_DECL worker_liveness(const liveness_settings& settings, learned_timeouts& learned);

  /// The worker runs from now on; what was known of one before is forgotten.
  ELASTIC_DECL void start(time_point now);

  /// It ended, or wants to be watched no longer.
  void end() { running_ = false; }

  ELASTIC_DECL void beat(time_point now, std::optional<duration> timeout = std::nullopt);

  /// Result: false if too many sections are open already.
  ELASTIC_DECL bool enter(time_point now, const std::string& name, std::optional<duration> timeout);

  /// Nothing happens if that section is not open.
  ELASTIC_DECL void leave(time_point now, const std::string& name);

  /// Result: false if too many timers are armed already.
  ELASTIC_DECL bool arm(time_point now, const std::string& name, duration after,
                        int signal = SIGKILL);

  void release(const std::string& name) { timers_.erase(name); }

  ELASTIC_DECL void pause(time_point now);
  ELASTIC_DECL void resume(time_point now);

  /// Whatever is due gets its whole time from now on: the watch itself stood still (a machine that
  /// slept), and nobody knows who else did.
  ELASTIC_DECL void renew(time_point now);

  /// When to judge again; `time_point::max()` if nothing is due.
  time_point next_expiry() const { return first_due().at; }

  /// None while the worker is in time.
  ELASTIC_DECL std::optional<liveness_verdict> judge(time_point now) const;

  /// "12.3 s"; "10 s" for whole seconds.
  ELASTIC_DECL static std::string text_of(duration span);

 private:
  // Clocks stood still for so long.
  ELASTIC_DECL void shift(duration span);

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
    const worker_liveness::section* section = nullptr;
    const std::string* timer_name = nullptr;
    const timer* armed = nullptr;
  };

  static constexpr const char* beats_name = "heartbeat";
  static std::string section_name(const std::string& name) { return "section " + name; }

  ELASTIC_DECL std::vector<section>::iterator find_section(const std::string& name);

  // A section that has a time-out takes the place of heartbeats.
  ELASTIC_DECL bool awaits_section() const;
  ELASTIC_DECL void sign_of_life(time_point now);
  ELASTIC_DECL std::optional<duration> beat_timeout() const;
  ELASTIC_DECL std::string where() const;
  ELASTIC_DECL due first_due() const;

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

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/detail/impl/worker_liveness.ipp>
#endif
