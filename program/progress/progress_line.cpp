// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/progress/progress_line.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace elasticrun {

void progress_line::started(const elastic::agent_part::started_workers& job) {
  job_ = job;
  workers_.clear();
  samples_.clear();
}

void progress_line::progress(const elastic::worker_progress& made,
                             elastic::time_point now) {
  workers_[made.local_rank] = made;
  const elastic::worker_progress& last = slowest();
  if (!samples_.empty() && last.step <= samples_.back().step) return;
  samples_.push_back({now, last.step});
  // Enough samples for a steady rate, but few enough to follow its changes.
  constexpr std::size_t most = 32;
  if (samples_.size() > most) samples_.pop_front();
}

std::string progress_line::text(std::size_t width) const {
  std::string line;
  for (const std::string& part : parts()) {
    if (part.empty()) continue;
    const std::string more = line.empty() ? part : " | " + part;
    if (line.size() + more.size() > width) break;
    line += more;
  }
  return line;
}

const elastic::worker_progress& progress_line::slowest() const {
  const auto is_slower = [](const auto& left, const auto& right) {
    return left.second.step < right.second.step;
  };
  return std::min_element(workers_.begin(), workers_.end(), is_slower)->second;
}

std::vector<std::string> progress_line::parts() const {
  std::vector<std::string> parts;
  parts.push_back(fmt::format("round {}", job_.round));
  parts.push_back(fmt::format("{} worker{} on {} node{}", job_.world_size,
                              job_.world_size == 1 ? "" : "s", job_.group_world_size,
                              job_.group_world_size == 1 ? "" : "s"));
  if (job_.max_restarts > 0) {
    parts.push_back(fmt::format("restarts {}/{}", job_.restarts, job_.max_restarts));
  }
  if (workers_.empty()) {
    parts.push_back(condition_);
    return parts;
  }
  const elastic::worker_progress& last = slowest();
  parts.push_back(steps(last));
  parts.push_back(condition_.empty() ? speed(last) : condition_);
  std::string metrics;
  for (const auto& [name, value] : last.metrics) {
    metrics += fmt::format("{}{} {:.4g}", metrics.empty() ? "" : ", ", name, value);
  }
  parts.push_back(metrics);
  parts.push_back(last.text);
  return parts;
}

std::string progress_line::steps(const elastic::worker_progress& made) {
  if (made.total <= 0) return fmt::format("step {}", made.step);
  const double share = 100.0 * static_cast<double>(made.step) / static_cast<double>(made.total);
  return fmt::format("step {}/{} {:.0f}%", made.step, made.total, std::floor(share));
}

std::string progress_line::speed(const elastic::worker_progress& made) const {
  if (samples_.size() < 2) return {};
  const std::chrono::duration<double> took = samples_.back().time - samples_.front().time;
  const auto taken = static_cast<double>(samples_.back().step - samples_.front().step);
  if (took.count() <= 0 || taken <= 0) return {};
  const double rate = taken / took.count();
  std::string text =
      rate >= 0.1 ? fmt::format("{:.3g}/s", rate) : fmt::format("{:.3g} s a step", 1 / rate);
  if (made.total > made.step) {
    const auto steps_left = static_cast<double>(made.total - made.step);
    text += fmt::format(", {} left", clock_text(steps_left / rate));
  }
  return text;
}

std::string progress_line::clock_text(double seconds) {
  constexpr double day = 24 * 3600;
  if (seconds >= 3 * day) {
    return fmt::format("{:.0f} days", std::floor(std::min(seconds / day, 1e6)));
  }
  const auto whole = static_cast<int>(seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace elasticrun
