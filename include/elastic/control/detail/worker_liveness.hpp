// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/control/liveness_settings.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// Learns time-outs: the longest observed time, times a factor.
///
/// It needs at least `enough` observations. All workers and attempts of a node share one object: a
/// duration that occurred in one is normal in the others.
class learned_timeouts {
 public:
  static constexpr int enough = 5;
  ELASTIC_DECL explicit learned_timeouts(const liveness_settings& settings = {});
  ELASTIC_DECL void observe(const std::string& name, duration took);

  /// Empty if there are too few observations.
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

/// Why a worker counts as hung, and the signal that ends it.
struct liveness_verdict {
  /// "no heartbeat for 12.3 s (allowed 10 s) in section 'all_reduce'".
  std::string reason;
  /// The signal for it: SIGKILL, unless a timer of PyTorch's client named another.
  int signal = SIGKILL;
};

/// Judges by heartbeats, sections and timers whether one worker is hung. Pure: it takes events and
/// the time, and returns the verdict and the time of the next check.
///
/// - **Heartbeats.** After the first one, the next is due within the worker's own time-out, else
///   that of the settings, else the learned one; without any of the three, none is due. After the
///   first heartbeat, the beginning and the end of a section count as heartbeats, too.
/// - **Sections.** A section with a time-out, its own or a learned one, must end in that time; no
///   heartbeat is due meanwhile. Other sections only show where a worker hangs.
/// - **Timers** are independent of these. Arming a timer again restarts it.
///
/// Nothing is due while the worker is paused: all clocks stand still.
class worker_liveness {
 public:
  /// `learned` must outlive this.
  ELASTIC_DECL worker_liveness(const liveness_settings& settings, learned_timeouts& learned);

  /// Notes that the worker runs; forgets everything about an earlier one.
  ELASTIC_DECL void start(time_point now);

  /// Ends the watch: the worker ended, or asked for no further watching.
  void end() { running_ = false; }

  ELASTIC_DECL void beat(time_point now, std::optional<duration> timeout = std::nullopt);

  /// Result: false if too many sections are open already.
  ELASTIC_DECL bool enter(time_point now, const std::string& name, std::optional<duration> timeout);

  /// Does nothing if the section is not open.
  ELASTIC_DECL void leave(time_point now, const std::string& name);

  /// Result: false if too many timers are armed already.
  ELASTIC_DECL bool arm(time_point now, const std::string& name, duration after,
                        int signal = SIGKILL);

  void release(const std::string& name) { timers_.erase(name); }

  ELASTIC_DECL void pause(time_point now);
  ELASTIC_DECL void resume(time_point now);

  /// Restarts every time-out that is running: the watch itself stood still (the machine was
  /// suspended), so others may have, too.
  ELASTIC_DECL void renew(time_point now);

  /// When to judge again; `time_point::max()` if nothing is due.
  time_point next_expiry() const { return first_due().time; }

  /// Empty while the worker is in time.
  ELASTIC_DECL std::optional<liveness_verdict> judge(time_point now) const;

  /// "12.3 s"; "10 s" for whole seconds.
  ELASTIC_DECL static std::string text_of(duration span);

 private:
  // Moves all times by `span`, for which the clocks stood still.
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
  /// The item that is due first.
  struct due {
    enum class kind { first_heartbeat, heartbeat, section, timer };
    time_point time = time_point::max();
    kind what = kind::heartbeat;
    const worker_liveness::section* section = nullptr;
    const std::string* timer_name = nullptr;
    const timer* armed = nullptr;
  };

  static constexpr const char* beats_name = "heartbeat";
  static std::string section_name(const std::string& name) { return "section " + name; }

  ELASTIC_DECL std::vector<section>::iterator find_section(const std::string& name);

  // Whether a section with a time-out is open, which replaces heartbeats.
  ELASTIC_DECL bool awaits_section() const;
  ELASTIC_DECL void sign_of_life(time_point now);
  ELASTIC_DECL std::optional<duration> beat_timeout() const;
  ELASTIC_DECL std::string where() const;
  ELASTIC_DECL due first_due() const;

  liveness_settings settings_;
  learned_timeouts* learned_;
  bool running_ = false;
  time_point started_{};
  /// When the last heartbeat arrived, or a message that counts as one.
  std::optional<time_point> last_sign_;
  std::optional<duration> own_timeout_;
  std::vector<section> sections_;
  std::map<std::string, timer> timers_;
  std::optional<time_point> paused_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/control/detail/worker_liveness.ipp>
#endif
