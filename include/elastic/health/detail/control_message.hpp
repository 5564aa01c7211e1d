// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/health/agent_message.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace elastic::detail {

/// The messages of a worker to its agent over the control channel; `control_messages` has the other
/// direction. Each line is one JSON object, whose "kind" is the name of the struct. Times are in
/// seconds; unknown fields are ignored. docs/control_channel.md describes the protocol.
namespace worker_messages {

/// The first line of a connection.
struct hello {
  int version = control_messages::version;
  int local_rank = 0;
  /// Whether the worker accepts requests for checkpoints.
  bool checkpoints = false;
};

/// The worker is alive. After the first heartbeat, the next is due within `timeout`, if set, or
/// else within the time-out that the agent was given or has learned.
struct heartbeat {
  std::optional<duration> timeout;
};

/// A section of its work begins. With a `timeout`, the section must end in that time, and no
/// heartbeat is due meanwhile.
struct enter {
  std::string section;
  std::optional<duration> timeout;
};

/// The section has ended.
struct leave {
  std::string section;
};

/// Kill the worker after `after`, unless it sends `release` first. Sent again, it restarts the
/// timer.
struct expires {
  std::string timer;
  duration after{};
};

struct release {
  std::string timer;
};

/// The worker's progress; counts as a heartbeat.
struct progress {
  std::int64_t step = 0;
  /// The number of steps; 0: unknown.
  std::int64_t total = 0;
  std::string text;
  std::map<std::string, double> metrics;
};

/// The answer to a request for a checkpoint: it was saved, or why it was not.
struct saved {
  std::int64_t id = 0;
};
struct not_saved {
  std::int64_t id = 0;
  std::string reason;
};

/// If workers fail from now on, the job must not restart.
struct no_restart {
  std::string reason;
};

/// This node cannot do the work and must leave the job.
struct bad_node {
  std::string reason;
};

/// Stop watching this worker.
struct bye {};

/// This process can leave an epoch and take part in the next one.
struct survive {};

/// The script has reached the point up to which another process can run it in advance.
struct prepared {};

/// The worker's work in epoch `epoch` failed: it asks whether the epoch has ended or the failure is
/// its own.
struct ask {
  std::int64_t epoch = 0;
  std::string reason;
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

}  // namespace worker_messages

/// A message of a worker.
using worker_message =
    std::variant<worker_messages::hello, worker_messages::heartbeat, worker_messages::enter,
                 worker_messages::leave, worker_messages::expires, worker_messages::release,
                 worker_messages::progress, worker_messages::saved, worker_messages::not_saved,
                 worker_messages::no_restart, worker_messages::bad_node, worker_messages::bye,
                 worker_messages::survive, worker_messages::ask, worker_messages::ready,
                 worker_messages::finished, worker_messages::prepared,
                 worker_messages::await_roles>;

/// The message as a line, including the line end; at most `limits::control_line_bytes`. Long texts
/// and names are cut; metrics that make the line too long are left out.
/// Errors: `errc::invalid_argument` if the environment of `rejoin` does not fit into a line.
ELASTIC_DECL std::string to_line(const worker_message& message);
ELASTIC_DECL std::string to_line(const control_messages::agent_message& message);

/// Parses a worker's line without its end.
/// Errors: `errc::protocol_violation`, with the problem and what is allowed.
ELASTIC_DECL worker_message parse_worker_message(std::string_view line);

/// Parses an agent's line; empty if the kind is unknown: newer agents may send more kinds.
/// Errors: `errc::protocol_violation`, with the problem.
ELASTIC_DECL std::optional<control_messages::agent_message> parse_agent_message(
    std::string_view line);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/detail/impl/control_message.ipp>
#endif
