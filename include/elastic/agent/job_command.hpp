// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic {

/// A command to the agent of a running job.
struct job_command {
  /// The outcome of a command.
  struct outcome {
    bool is_done = false;
    /// One sentence about the result, or the reason why there is none; for `stacks`, several lines.
    std::string text = {};
  };

  /// Carries out a command and returns its outcome. It may take as long as the command does.
  using handler = std::function<task<outcome>(job_command)>;

  enum class kind {
    /// Pauses the whole job: workers of all nodes that accept requests save a checkpoint, all
    /// workers are stopped, and none start until `resume`, or until this node is gone.
    pause,
    /// Ends the pause that this node began.
    resume,
    /// Workers of this node that accept requests save a checkpoint now.
    checkpoint,
    /// This node leaves the job cleanly, as on SIGTERM; the others continue.
    drain,
    /// Shows what the workers are doing: the outcome's text contains their stacks, in several
    /// lines.
    stacks,
  };

  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  job_command() = default;
  job_command(kind asked, std::string why = {}, duration limit = std::chrono::seconds(60))
      : what(asked), reason(std::move(why)), within(limit) {}

  kind what = kind::checkpoint;
  /// The sender and the reason of the command: "by user 1000: GPU 3 is hot". For logs and other
  /// nodes, so it must be printable and without line ends.
  std::string reason = {};
  /// How long the checkpoint may take.
  duration within = std::chrono::seconds(60);
  /// The ranks whose stacks are wanted; empty: all.
  std::vector<int> ranks = {};
  /// In a job of several roles: the role that the command is for; empty: all roles. An agent
  /// ignores it.
  std::string role = {};
};

/// The names of the commands in requests and on command lines.
inline constexpr std::array<std::pair<job_command::kind, std::string_view>, 5> job_command_names{{
    {job_command::kind::pause, "pause"},
    {job_command::kind::resume, "resume"},
    {job_command::kind::checkpoint, "checkpoint"},
    {job_command::kind::drain, "drain"},
    {job_command::kind::stacks, "stacks"},
}};

constexpr std::string_view to_string(job_command::kind kind) {
  for (const auto& [value, name] : job_command_names) {
    if (value == kind) return name;
  }
  return "unknown";
}

constexpr std::optional<job_command::kind> job_command_of(std::string_view name) {
  for (const auto& [value, text] : job_command_names) {
    if (text == name) return value;
  }
  return std::nullopt;
}

}  // namespace elastic
