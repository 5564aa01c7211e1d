// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_curves.hpp>

#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/status/detail/event_sentence.hpp>

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// Adds a part of a span to its point, or begins the next one.
inline void add_to(std::vector<curve::point>& points, const curve::point& part) {
  if (points.empty() || points.back().begin_us < part.begin_us) {
    points.push_back(part);
    return;
  }
  points.back().step = part.step;
  points.back().sum += part.sum;
  points.back().count += part.count;
}

ELASTIC_DECL void curve::add(double value, std::int64_t step, std::int64_t now_us) {
  if (!std::isfinite(value)) return;
  add_to(points_, {now_us - now_us % span_us_, step, value, 1});
  if (points_.size() <= limits::curve_points) return;
  span_us_ *= 2;
  std::vector<point> longer;
  for (point each : points_) {
    each.begin_us -= each.begin_us % span_us_;
    add_to(longer, each);
  }
  points_ = std::move(longer);
}

/// The kind of a mark; empty: the event is none.
inline std::string_view mark_kind(const job_event& event) {
  switch (event.kind) {
    case job_event::type::ranks_replaced: return "replacement";
    case job_event::type::stall_found: return "stall";
    case job_event::type::round_ended:
      if (event.state == "worker_failed") return "failure";
      return event.state == "paused" ? "pause" : "membership";
    default: return {};
  }
}

ELASTIC_DECL void job_curves::take(const journal_record& record) {
  const job_event& event = record.event;
  if (event.kind == job_event::type::workers_started) {
    for (auto& [name, each] : metrics_) each.rank = std::numeric_limits<int>::max();
  }
  const std::string_view kind = mark_kind(event);
  if (kind.empty()) return;
  marks_.push_back({record.time_us, kind, event_sentence(event)});
  if (marks_.size() > limits::curve_marks) marks_.pop_front();
}

ELASTIC_DECL void job_curves::take(const worker_progress& made, double step_seconds,
                                   std::int64_t now_us) {
  if (step_seconds > 0) step_seconds_.add(step_seconds, made.step, now_us);
  for (const auto& [name, value] : made.metrics) {
    auto found = metrics_.find(name);
    if (found == metrics_.end()) {
      if (metrics_.size() == limits::control_metrics) continue;
      found = metrics_.emplace(name, metric{made.rank, {}}).first;
    }
    if (made.rank > found->second.rank) continue;
    found->second.rank = made.rank;
    found->second.values.add(value, made.step, now_us);
  }
}

inline std::string curve_json(std::string_view name, const curve& values) {
  std::vector<std::string> points;
  for (const curve::point& each : values.points()) {
    const double mean = each.sum / static_cast<double>(each.count);
    // A sum of the largest numbers is none.
    if (!std::isfinite(mean)) continue;
    points.push_back(fmt::format("[{},{},{:.6g}]", each.begin_us, each.step, mean));
  }
  json_object json;
  json.add("name", name).add("span_us", values.span_us());
  json.add_json("points", fmt::format("[{}]", fmt::join(points, ",")));
  return json.text();
}

ELASTIC_DECL std::string job_curves::json() const {
  std::vector<std::string> curves;
  if (!step_seconds_.points().empty()) curves.push_back(curve_json("step_seconds", step_seconds_));
  for (const auto& [name, each] : metrics_) curves.push_back(curve_json(name, each.values));
  std::vector<std::string> marks;
  for (const mark& each : marks_) {
    json_object json;
    json.add("time_us", each.time_us).add("kind", each.kind).add("text", each.text);
    marks.push_back(json.text());
  }
  return fmt::format("{{\"curves\": [{}],\n\"marks\": [{}]}}\n", fmt::join(curves, ",\n"),
                     fmt::join(marks, ",\n"));
}

}  // namespace elastic::detail
