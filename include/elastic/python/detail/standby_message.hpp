// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

// The messages between an agent and a standby, over a socket that preserves message boundaries.
// Zero bytes separate the fields of a message, since environment variables may contain any other
// byte.
//
//   standby                                  agent
//   ready   version, pid, -module, =name  →           (missing modules, variables it has read)
//   dropped module, reason                →           (it ends)
//                                         ← check     (not always: it will be prepared soon)
//                                         ← prepare   changes of variables, @processors;
//                                                     attached: 0, 1, 2
//   prepared                              →
//   refused reason                        →           (it ends; also instead of `ready`)
//                                         ← go

/// A message of a standby.
struct standby_message {
  enum class kind {
    /// It has finished its imports and waits.
    ready,
    /// A module cannot be imported by a standby.
    dropped,
    /// It has the worker's streams and variables, and waits for `go`.
    prepared,
    /// It cannot become the worker.
    refused,
  };
  kind what = kind::ready;
  /// ready: its own pid.
  pid_t pid = 0;
  /// ready: modules that are not installed.
  std::vector<std::string> missing = {};
  /// ready: the environment variables that its imports or its script have read or changed, as far
  /// as they fit.
  std::vector<std::string> variables = {};
  /// dropped: the module.
  std::string module = {};
  /// dropped, refused: the reason.
  std::string reason = {};

  friend bool operator==(const standby_message&, const standby_message&) = default;
};

/// Parses a message of a standby. Names and reasons in it may contain any byte but zero.
///
/// Errors: `errc::protocol_violation` for anything that `bytes_of` does not write, and for more
/// than `limits::standby_message_bytes`.
ELASTIC_DECL standby_message parse_standby_message(std::string_view bytes);

/// The same message as bytes.
ELASTIC_DECL std::string bytes_of(const standby_message& message);

/// An environment variable to set or, without a value, to remove.
struct variable_change {
  std::string name;
  std::optional<std::string> value;

  friend bool operator==(const variable_change&, const variable_change&) = default;
};

/// The agent's message `prepare`.
/// @param processors  those on which the worker may run; empty: the standby's
ELASTIC_DECL std::string preparation_of(const std::vector<variable_change>& changes,
                                        const std::string& processors = {});

/// The agent's notice that the worker is about to end.
inline constexpr std::string_view standby_check = "check";

/// The agent's last message: become the worker.
inline constexpr std::string_view standby_go = "go";

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/standby_message.ipp>
#endif
