// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>

#include <memory>
#include <string>

namespace elastic::detail {

/// A connection over which whole messages go, in order.
///
/// Thread-safety: one strand at a time.
class message_channel {
 public:
  virtual ~message_channel() = default;

  /// Sends a message; never waits. After the end of the connection it does nothing.
  virtual void send(std::string message) = 0;

  /// The next message.
  ///
  /// Errors: `errc::connection_failed` if the connection has ended,
  /// `errc::protocol_violation` if the other side sends something else than messages.
  /// Cancellation: all types; throws `operation_aborted`, nothing is lost.
  virtual task<std::string> receive() = 0;

  /// Waits until what was sent has left this process.
  ///
  /// Errors: `errc::connection_failed`. Cancellation: all types.
  virtual task<void> flush() = 0;

  /// Ends the connection now; `receive` then ends with an error.
  virtual void close() = 0;

  /// Whether the other side has begun a handshake that is not complete. One that then hangs up is
  /// a server that is busy, and no other program.
  virtual bool is_in_handshake() const { return false; }

  /// The address of this end, numeric.
  virtual std::string local_address() const = 0;

  /// The address of the other end, numeric; empty if the system does not tell.
  virtual std::string remote_address() const = 0;
};

/// Where channels come from.
class message_connector {
 public:
  virtual ~message_connector() = default;

  /// Connects, in one try.
  ///
  /// Errors: `errc::connection_failed`, with a sentence that names the addresses tried.
  /// Cancellation: all types.
  virtual task<std::shared_ptr<message_channel>> connect() = 0;

  /// The same to the other side that was connected to last, where there are several.
  virtual task<std::shared_ptr<message_channel>> connect_again() { return connect(); }

  /// The other side, for people: "host:port".
  virtual std::string name() const = 0;

  /// The one of several other sides that was connected to last, for people.
  virtual std::string connected_to() const { return name(); }

  /// Why a `connect` that was cancelled had not come to an end, for people; empty: not known.
  virtual std::string problem() const { return {}; }

  /// Whether the other side has shown that it is the one that was looked for. It may have to
  /// be silent for a while all the same.
  virtual bool knows_other_side() const { return false; }

  /// Whether what was connected to last is a server of this process.
  virtual bool reaches_own_process() const { return false; }
};

}  // namespace elastic::detail
