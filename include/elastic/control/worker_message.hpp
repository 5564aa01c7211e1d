// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/control/agent_message.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

namespace elastic {

/// The messages of a worker to its agent over the control channel; see
/// `worker_channels::options::message`. docs/control_channel.md describes the protocol.
///
/// Times are positive, numbers are not negative. Texts contain no control characters and have at
/// most `limits::control_text_bytes`; names have 1 to `limits::control_name_bytes`.
namespace worker_messages {

/// The first message of a connection.
struct hello {
  int version = control_messages::version;
  int local_rank = 0;
  /// Whether the worker accepts requests for checkpoints.
  bool checkpoints = false;
};

/// The worker is alive. After the first heartbeat, the next is due within `timeout`, if set, or
/// else within the time-out that the agent was given or has learned.
struct heartbeat {
  std::optional<duration> timeout = {};
};

/// A section of its work begins. With a `timeout`, the section must end in that time, and no
/// heartbeat is due meanwhile.
struct enter {
  std::string section = {};
  std::optional<duration> timeout = {};
};

/// The section has ended.
struct leave {
  std::string section = {};
};

/// Kill the worker after `after`, unless it sends `release` first. Sent again, it restarts the
/// timer.
struct expires {
  std::string timer = {};
  duration after{};
};

/// Do not kill the worker for this timer.
struct release {
  std::string timer = {};
};

/// The worker's progress; counts as a heartbeat, unless it is automatic.
struct progress {
  std::int64_t step = 0;
  /// The total number of steps; 0: unknown.
  std::int64_t total = 0;
  std::string text = {};
  /// At most `limits::control_metrics`.
  std::map<std::string, double> metrics = {};
  /// Sent by a library of the worker, not by its script, which may send nothing for long.
  bool automatic = false;
};

/// The checkpoint that `control_messages::checkpoint` asked for with this id is saved.
struct saved {
  std::int64_t id = 0;
};

/// It is not saved, for this reason; empty: unknown.
struct not_saved {
  std::int64_t id = 0;
  std::string reason = {};
};

/// If workers fail from now on, the job must not restart.
struct no_restart {
  std::string reason = {};
};

/// This node cannot do the work and must leave the job.
struct bad_node {
  std::string reason = {};
};

/// Stop watching this worker.
struct bye {};

/// This process can leave an epoch and take part in the next one.
struct survive {};

/// It no longer can, for this reason: if a worker of the job fails from now on, all restart.
struct withdraw {
  std::string reason = {};
};

/// Its script has reached the point up to which another process can run it in advance.
struct prepared {};

/// The worker's work in epoch `epoch` failed: it asks whether the epoch has ended or the failure is
/// its own.
struct ask {
  std::int64_t epoch = 0;
  std::string reason = {};
};

/// The worker has left epoch `epoch` and waits for the next one.
struct ready {
  std::int64_t epoch = 0;
};

/// The worker has succeeded in epoch `epoch`; it takes part in no other.
struct finished {
  std::int64_t epoch = 0;
};

/// Tell the worker, once, when the file of the job's roles has a later revision than this one.
struct await_roles {
  std::int64_t revision = 0;
};

/// A message of a worker.
using worker_message =
    std::variant<hello, heartbeat, enter, leave, expires, release, progress, saved, not_saved,
                 no_restart, bad_node, bye, survive, ask, ready, finished, prepared, await_roles,
                 withdraw>;

}  // namespace worker_messages

}  // namespace elastic
