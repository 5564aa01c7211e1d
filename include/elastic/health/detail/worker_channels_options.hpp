// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/detail/control_message.hpp>
#include <elastic/health/detail/worker_liveness.hpp>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// Callbacks for messages that `worker_channels` does not handle itself. Each may be empty, must
/// not throw, and is called on the strand.
struct channel_events {
  /// A worker is hung. Called once; the callee must kill the worker.
  std::function<void(int local_rank, const liveness_verdict&)> hung{};
  std::function<void(int local_rank, const worker_messages::progress&)> progress{};
  std::function<void(int local_rank, const std::string& reason)> no_restart{};
  std::function<void(int local_rank, const std::string& reason)> bad_node{};
  /// A message of a worker that can outlive an epoch: survive, ask, ready or finished.
  std::function<void(int local_rank, const worker_message&)> epoch{};
  /// The script of a worker can be run in advance up to a point.
  std::function<void()> prepared{};
  /// The revision of the job's roles; empty: the job has none.
  std::function<std::int64_t()> roles{};
  /// The worker that a process is or descends from: for PyTorch's timers, which contain pids, and
  /// for workers that run as another user.
  std::function<std::optional<int>(pid_t)> owner_of{};
};

struct worker_channels_options {
  liveness_settings liveness{};
  /// Whether to serve timers of PyTorch's FileTimerClient, too, and at which path; empty: a path in
  /// the temporary folder.
  bool timer_file = false;
  std::string timer_path{};
  /// Null: `system_time`.
  std::shared_ptr<time_source> time{};
  logger log{};
  channel_events events{};
};

}  // namespace elastic::detail
