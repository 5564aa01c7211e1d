// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A value over time, as means over spans of equal length. There are `limits::curve_points` at
/// most: when these are full, the spans become twice as long, so that a curve of weeks takes as
/// much memory as one of minutes.
class curve {
 public:
  struct point {
    std::int64_t begin_us = 0;
    /// The last step of the span.
    std::int64_t step = 0;
    double sum = 0;
    std::int64_t count = 0;
  };

  /// A value that is not finite is left out. A clock that was set back continues the last span.
  ELASTIC_DECL void add(double value, std::int64_t step, std::int64_t now_us);

  const std::vector<point>& points() const { return points_; }
  std::int64_t span_us() const { return span_us_; }

 private:
  std::int64_t span_us_ = 1'000'000;
  std::vector<point> points_;
};

/// How the training of a node's workers goes: the duration of their steps and the metrics that they
/// report, over time, with what disturbed them. A plain value without clocks; bounded, whatever it
/// is told.
///
/// Thread-safety: one thread at a time.
class job_curves {
 public:
  /// Marks failures, changes of the nodes, replacements and stalls.
  ELASTIC_DECL void take(const journal_record& record);

  /// Takes a report of a worker. A metric that several report is that of the lowest rank.
  /// @param step_seconds  the duration of a step; 0: unknown
  ELASTIC_DECL void take(const worker_progress& made, double step_seconds, std::int64_t now_us);

  /// {"curves": [{"name": "loss", "span_us": …, "points": [[time_us, step, mean], …]}, …],
  /// "marks": [{"time_us": …, "kind": "failure", "text": "…"}, …]}. The duration of a step is the
  /// curve "step_seconds", the first one.
  ELASTIC_DECL std::string json() const;

 private:
  struct metric {
    /// The lowest rank of the attempt that has reported it.
    int rank = 0;
    curve values;
  };
  struct mark {
    std::int64_t time_us = 0;
    std::string_view kind;
    std::string text;
  };

  curve step_seconds_;
  std::map<std::string, metric> metrics_;
  std::deque<mark> marks_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/job_curves.ipp>
#endif
