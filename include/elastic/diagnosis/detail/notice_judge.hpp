// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/worker_signs.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// A node's notice about workers that cannot continue.
struct notice {
  /// One printable line, and a guess at its meaning in case the workers' stacks are unknown.
  std::string line;
  std::string guess = {};
  /// The ranks that cannot continue, the most important first, and the reason as a
  /// `job_event::state`.
  std::vector<int> ranks = {};
  std::string_view state = {};
  /// The local ranks of the workers whose stacks are shown at the end of the line.
  std::vector<int> places = {};
  /// The worker to end, with the reason; empty: none. A notice of this kind has no line.
  std::optional<int> ended = {};
};

/// Decides from the signs of a node's workers which of them cannot continue. Pure: it takes signs
/// and the time, and returns notices and workers to end. docs/design/diagnosis.md has its rules.
///
/// Thread-safety: none.
class notice_judge {
 public:
  /// @param end_after_error  see `job_diagnosis::end_after_error`
  /// @param node  the name of this node in lines
  notice_judge(duration end_after_error, std::string node)
      : end_after_error_(end_after_error), node_(std::move(node)) {}

  /// @param signs  the signs of all workers of the attempt that were started
  /// @param disturbed  the workers were inspected meanwhile, so that their activity proves nothing
  ELASTIC_DECL std::vector<notice> take(const std::vector<worker_signs>& signs, time_point now,
                                        bool disturbed = false);

  /// The time of the next sample; `time_point::max()`: when a worker gives a sign.
  time_point wake_at() const { return wake_at_; }

 private:
  struct record {
    worker_signs last;
    /// The time since which it has made no progress: no step, message or output.
    time_point quiet_since{};
    /// The time since which it has been completely idle.
    time_point idle_since{};
    /// The times of the exception that a notice has named, and of the one for which the worker was
    /// ended.
    std::optional<time_point> told = {};
    std::optional<time_point> punished = {};
  };
  using records = std::vector<const record*>;

  ELASTIC_DECL void compare(record& entry, const worker_signs& signs, time_point now,
                            bool disturbed) const;
  ELASTIC_DECL static bool has_failed(const record& entry);
  ELASTIC_DECL void judge_failure(record& entry, time_point now, std::vector<notice>& notices);
  struct remainder;
  ELASTIC_DECL static remainder survey(const records& ended, const records& running);
  ELASTIC_DECL void judge_rest(const records& ended, const records& running, time_point now,
                               std::vector<notice>& notices);
  ELASTIC_DECL std::string name_of(const record& entry) const;
  ELASTIC_DECL std::string line_about(const remainder& rest, bool are_idle, time_point now) const;
  ELASTIC_DECL std::string names_of(const records& workers) const;
  ELASTIC_DECL static std::string ranks_of(const records& workers);
  /// Whether a time has come; otherwise the next sample is at that time, or earlier.
  ELASTIC_DECL bool is_due(time_point due, time_point now);

  duration end_after_error_;
  std::string node_;
  std::map<int, record> records_;
  time_point wake_at_ = time_point::max();
  std::optional<time_point> taken_;
  /// The last exception or end.
  time_point evidence_at_{};
  /// The number of ended workers in the last notice about the others, and its time.
  std::size_t told_ended_ = 0;
  time_point told_at_{};
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/notice_judge.ipp>
#endif
