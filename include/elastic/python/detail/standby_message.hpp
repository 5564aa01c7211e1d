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

// What an agent and a standby say to each other, over a socket that keeps messages apart. A message
// is fields with a zero byte between, since variables of the environment may hold any other byte.
//
//   standby                                  agent
//   ready   version, pid, missing modules →
//   dropped module, reason                →           (it ends)
//                                         ← check     (not always: it will be prepared soon)
//                                         ← prepare   changes of variables; attached: 0, 1, 2
//   prepared                              →
//   refused reason                        →           (it ends; also instead of `ready`)
//                                         ← go

/// What a standby says.
struct standby_message {
  enum class kind {
    /// It has imported and waits.
    ready,
    /// A module cannot be imported by a standby.
    dropped,
    /// It has the worker's streams and variables, and waits for the last word.
    prepared,
    /// It cannot become the worker.
    refused,
  };
  kind what = kind::ready;
  /// ready: its own number.
  pid_t pid = 0;
  /// ready: modules that are not installed.
  std::vector<std::string> missing = {};
  /// dropped: which.
  std::string module = {};
  /// dropped, refused: why.
  std::string reason = {};

  friend bool operator==(const standby_message&, const standby_message&) = default;
};

/// Reads what a standby has sent. What it names may hold any byte but zero.
///
/// Errors: `errc::protocol_violation` for anything that `bytes_of` does not write, and for more
/// than `limits::standby_message_bytes`.
ELASTIC_DECL standby_message parse_standby_message(std::string_view bytes);

/// The same message as bytes.
ELASTIC_DECL std::string bytes_of(const standby_message& message);

/// A variable of the environment that is to be set, or with no value removed.
struct variable_change {
  std::string name;
  std::optional<std::string> value;

  friend bool operator==(const variable_change&, const variable_change&) = default;
};

/// The agent's `prepare`.
ELASTIC_DECL std::string preparation_of(const std::vector<variable_change>& changes);

/// The agent's word that its worker is about to end.
inline constexpr std::string_view standby_check = "check";

/// The agent's last word.
inline constexpr std::string_view standby_go = "go";

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/standby_message.ipp>
#endif
