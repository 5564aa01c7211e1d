// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Includes the whole of nlohmann/json.

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace elastic {

/// What a worker and its agent tell each other over the control channel: one JSON object a line,
/// whose "kind" is the name of the struct. docs/control_channel.md has the conversation. Times are
/// seconds; fields that are not known are passed over.
namespace control_messages {

// ---- from a worker --------------------------------------------------------------------------

/// The first line of a connection.
struct hello {
  static constexpr int current_version = 1;
  int version = current_version;
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

// ---- from the agent -------------------------------------------------------------------------

/// The answer to hello.
struct welcome {
  int version = hello::current_version;
};

/// A line could not be taken; the connection ends.
struct refused {
  std::string reason;
};

/// Save a checkpoint and say so (`saved`, `not_saved`); by then the agent waits no longer.
struct checkpoint {
  std::int64_t id = 0;
  duration within{};
};

/// Do nothing until `resume`; no heartbeat is expected meanwhile.
struct pause {};
struct resume {};

/// You are being stopped: a signal comes now, SIGKILL after `grace` (0: not known).
struct stop {
  duration grace{};
};

}  // namespace control_messages

/// What a worker says.
using worker_message =
    std::variant<control_messages::hello, control_messages::heartbeat, control_messages::enter,
                 control_messages::leave, control_messages::expires, control_messages::release,
                 control_messages::progress, control_messages::saved, control_messages::not_saved,
                 control_messages::no_restart, control_messages::bad_node, control_messages::bye>;

/// What the agent says.
using agent_message =
    std::variant<control_messages::welcome, control_messages::refused, control_messages::checkpoint,
                 control_messages::pause, control_messages::resume, control_messages::stop>;

namespace detail {

/// `text` without what a terminal would obey, at most `most` bytes of whole characters: it is
/// shown to people.
ELASTIC_DECL std::string printable(std::string_view text, std::size_t most);

}  // namespace detail

/// The message as a line, its end included; at most `limits::control_line_bytes`. Texts and names
/// are cut if they are too long; metrics that make the line too long are left out.
ELASTIC_DECL std::string to_line(const worker_message& said);
ELASTIC_DECL std::string to_line(const agent_message& said);

/// Reads what a worker says: a line without its end.
/// Errors: `errc::protocol_violation`, naming what is wrong and what is allowed.
ELASTIC_DECL worker_message parse_worker_message(std::string_view line);

/// Reads what the agent says; nothing if the kind is not known: later agents may say more.
/// Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL std::optional<agent_message> parse_agent_message(std::string_view line);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/impl/control_message.ipp>
#endif
