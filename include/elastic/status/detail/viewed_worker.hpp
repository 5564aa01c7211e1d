// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/job_event.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// What an agent is at.
enum class agent_activity {
  starting,
  meeting,
  paused,
  running,
  stopping,
  restarting,
  finishing,
  succeeded,
  failed,
  stopped,
};
inline constexpr std::array<std::string_view, 10> agent_activity_names{
    "starting",   "rendezvous",   "paused",    "running", "stopping",
    "restarting", "exit_barrier", "succeeded", "failed",  "stopped"};

constexpr std::string_view to_string(agent_activity activity) {
  return agent_activity_names[static_cast<std::size_t>(activity)];
}

/// The time between two times of day, in seconds; a clock that was set makes it no less than 0.
constexpr double seconds_between(std::int64_t from_us, std::int64_t to_us) {
  const double span = (static_cast<double>(to_us) - static_cast<double>(from_us)) / 1e6;
  return span > 0 ? span : 0;
}

/// A worker in the last attempt of its node.
struct viewed_worker {
  enum class condition { waiting, running, succeeded, failed, hung, stopped };

  std::int64_t rank = -1;
  std::int64_t local_rank = 0;
  std::int64_t pid = 0;
  condition state = condition::waiting;
  std::optional<std::int64_t> exit_code = {};
  std::optional<std::int64_t> signal = {};
  /// Why it ended, as far as somebody said so. Text of the worker's, which may be hostile.
  std::string reason = {};
  std::int64_t ended_us = 0;
  /// The last step that it reported, of how many (0: not known), and when; -1: none.
  std::int64_t step = -1;
  std::int64_t total = 0;
  std::int64_t progress_us = 0;
  /// When it first reported that step.
  std::int64_t step_us = 0;
  /// Text of the worker's.
  std::string text = {};
  /// What a step takes it, smoothed; 0: not known.
  double step_seconds = 0;
  /// Whether it seems to hold up the others, and why.
  job_event::suspicion suspicion = job_event::suspicion::none;
  std::string suspicion_reason = {};
  /// How often its rank was given to a new process while other workers went on.
  std::int64_t replacements = 0;

  bool is_suspected() const {
    return state == condition::running && suspicion != job_event::suspicion::none;
  }
};
inline constexpr std::array<std::string_view, 6> worker_condition_names{
    "waiting", "running", "succeeded", "failed", "hung", "stopped"};

}  // namespace elastic::detail
