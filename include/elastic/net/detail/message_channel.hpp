// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>

#include <memory>
#include <string>

namespace elastic::detail {

/// A connection that carries whole messages, in order.
///
/// Thread-safety: one strand at a time.
class message_channel {
 public:
  virtual ~message_channel() = default;

  /// Sends a message; never waits. After the end of the connection it does nothing.
  virtual void send(std::string message) = 0;

  /// The next message.
  ///
  /// Errors: `errc::connection_failed` if the connection has ended, `errc::protocol_violation` if
  /// the other side sends anything but messages.
  /// Cancellation: all types; throws `operation_aborted`, and no message is lost.
  virtual task<std::string> receive() = 0;

  /// Waits until everything sent has left this process.
  ///
  /// Errors: `errc::connection_failed`. Cancellation: all types.
  virtual task<void> flush() = 0;

  /// Ends the connection now; `receive` then ends with an error.
  virtual void close() = 0;

  /// Whether the other side has begun a handshake that is incomplete. If it then closes the
  /// connection, it is a busy server and not another program.
  virtual bool is_in_handshake() const { return false; }

  /// The address of this end, numeric.
  virtual std::string local_address() const = 0;

  /// The address of the other end, numeric; empty if the system does not tell.
  virtual std::string remote_address() const = 0;
};

/// Makes channels to another side.
class message_connector {
 public:
  virtual ~message_connector() = default;

  /// Connects, in a single attempt.
  ///
  /// Errors: `errc::connection_failed`, with a sentence that names the addresses tried.
  /// Cancellation: all types.
  virtual task<std::shared_ptr<message_channel>> connect() = 0;

  /// Connects again to the side that it was last connected to, if there are several.
  virtual task<std::shared_ptr<message_channel>> connect_again() { return connect(); }

  /// The name of the other side in messages: "host:port".
  virtual std::string name() const = 0;

  /// The name of the side that it was last connected to, if there are several.
  virtual std::string connected_to() const { return name(); }

  /// Why a cancelled `connect` did not complete, for messages; empty: unknown.
  virtual std::string problem() const { return {}; }

  /// Whether the other side has shown that it is the right one. It may still have to stay silent
  /// for a while.
  virtual bool knows_other_side() const { return false; }

  /// Whether it was last connected to a server in this process.
  virtual bool reaches_own_process() const { return false; }
};

}  // namespace elastic::detail
