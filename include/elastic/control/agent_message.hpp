// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>

namespace elastic {

/// The messages of an agent to its workers over the control channel; see `worker_channel::wait`.
namespace control_messages {

/// The version of the protocol.
inline constexpr int version = 1;

/// The answer to hello.
struct welcome {
  int version = control_messages::version;
};

/// A line was invalid; the connection ends.
struct refused {
  std::string reason = {};
};

/// Save a checkpoint and report it (`saved`, `not_saved`); the agent waits for at most `within`.
struct checkpoint {
  std::int64_t id = 0;
  duration within{};
};

/// Do nothing until `resume_work`; no heartbeat is expected meanwhile.
struct pause_work {};
struct resume_work {};

/// The worker is being stopped: a signal comes now, SIGKILL after `grace` (0: unknown).
struct stop {
  duration grace{};
};

/// Epoch `epoch` has ended: leave it, and answer `ready` before `within` is over. Otherwise this
/// process is killed. See `worker_channel::survive`.
struct change {
  std::int64_t epoch = 0;
  duration within{};
};

/// The failure about which a worker has asked is its own: it does not start a new epoch.
struct no_change {
  std::int64_t epoch = 0;
};

/// A new epoch begins, and this process takes part in it.
struct rejoin {
  std::int64_t epoch = 0;
  /// Each variable that a new process would get from its agent, by name.
  std::map<std::string, std::string, std::less<>> environment = {};
};

/// The roles of the job have changed: the file named by ELASTIC_ROLES has this revision or a later
/// one. See `worker_channel::await_roles`.
struct roles {
  std::int64_t revision = 0;
};

/// A message of the agent.
using agent_message = std::variant<welcome, refused, checkpoint, pause_work, resume_work, stop,
                                   change, no_change, rejoin, roles>;

}  // namespace control_messages

}  // namespace elastic
