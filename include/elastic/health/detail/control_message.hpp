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

/// What a worker tells its agent over the control channel; `control_messages` has the other way.
/// One JSON object a line, whose "kind" is the name of the struct. docs/control_channel.md has the
/// conversation. Times are seconds; fields that are not known are passed over.
namespace worker_messages {

/// The first line of a connection.
struct hello {
  int version = control_messages::version;
  int local_rank = 0;
  /// Whether it wants to be asked for checkpoints.
  bool checkpoints = false;
};

/// It lives. From the first one on the next is expected within `timeout`, if one is named, else
/// within what the agent was told or has learned.
struct heartbeat {
  std::optional<duration> timeout;
};

/// A part of its work begins. With a `timeout` it has to end by then, and no heartbeat is expected
/// meanwhile.
struct enter {
  std::string section;
  std::optional<duration> timeout;
};

/// That part has ended.
struct leave {
  std::string section;
};

/// It is to be killed `after` so long, unless it says `release` before. Said again, the timer
/// starts anew.
struct expires {
  std::string timer;
  duration after{};
};

struct release {
  std::string timer;
};

/// How far it is; counts as a heartbeat.
struct progress {
  std::int64_t step = 0;
  /// How many steps there are; 0: not known.
  std::int64_t total = 0;
  std::string text;
  std::map<std::string, double> metrics;
};

/// The checkpoint of that number is written, or why it is not.
struct saved {
  std::int64_t id = 0;
};
struct not_saved {
  std::int64_t id = 0;
  std::string reason;
};

/// Where workers fail from now on, the job is not to be started again.
struct no_restart {
  std::string reason;
};

/// This node cannot do the work and is to leave the job.
struct bad_node {
  std::string reason;
};

/// It wants to be watched no longer.
struct bye {};

/// It can leave an epoch and take part in the next one without a new process.
struct survive {};

/// Its script has come to the point up to which another process can run it in advance.
struct prepared {};

/// Its work in epoch `epoch` failed: whether the epoch ends, or the failure is its own.
struct ask {
  std::int64_t epoch = 0;
  std::string reason;
};

/// It has left epoch `epoch` and waits for the next one.
struct ready {
  std::int64_t epoch = 0;
};

/// Its work ended with success in epoch `epoch`; it takes part in no other.
struct finished {
  std::int64_t epoch = 0;
};

/// It wants to be told, once, when the file of the job's roles has a later revision than this one.
struct await_roles {
  std::int64_t revision = 0;
};

}  // namespace worker_messages

/// What a worker says.
using worker_message =
    std::variant<worker_messages::hello, worker_messages::heartbeat, worker_messages::enter,
                 worker_messages::leave, worker_messages::expires, worker_messages::release,
                 worker_messages::progress, worker_messages::saved, worker_messages::not_saved,
                 worker_messages::no_restart, worker_messages::bad_node, worker_messages::bye,
                 worker_messages::survive, worker_messages::ask, worker_messages::ready,
                 worker_messages::finished, worker_messages::prepared,
                 worker_messages::await_roles>;

/// The message as a line, its end included; at most `limits::control_line_bytes`. Texts and names
/// are cut if they are too long; metrics that make the line too long are left out.
/// Errors: `errc::invalid_argument` if the environment of `rejoin` does not fit into a line.
ELASTIC_DECL std::string to_line(const worker_message& message);
ELASTIC_DECL std::string to_line(const control_messages::agent_message& message);

/// Reads what a worker says: a line without its end.
/// Errors: `errc::protocol_violation`, naming what is wrong and what is allowed.
ELASTIC_DECL worker_message parse_worker_message(std::string_view line);

/// Reads what the agent says; nothing if the kind is not known: later agents may say more.
/// Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL std::optional<control_messages::agent_message> parse_agent_message(
    std::string_view line);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/detail/impl/control_message.ipp>
#endif
