// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace elastic::detail {

/// A further protocol on the port of a store server, for clients that begin with its greeting.
/// PyTorch's clients never send it, and PyTorch's servers close the connection on receiving it.
///
/// Thread-safety: the server calls everything on its strand, and must be called there.
class store_extension {
 public:
  /// One client, as the extension sees it. Lives as long as the conversation with it.
  class client {
   public:
    /// Sends bytes to it, in order; never waits.
    virtual void send(std::string_view bytes) = 0;

    /// Disconnects it after sending everything.
    virtual void hang_up() = 0;

    /// The two ends of the connection; default-constructed if the system does not tell.
    virtual asio::ip::tcp::endpoint here() const = 0;
    virtual asio::ip::tcp::endpoint there() const = 0;

   protected:
    ~client() = default;
  };

  /// What the extension keeps for one client; destroyed when the connection is gone.
  class conversation {
   public:
    virtual ~conversation() = default;

    /// Takes bytes that have arrived, in pieces of any size.
    /// Errors: `error`; the server logs its message and disconnects the client.
    virtual void received(std::string_view bytes) = 0;

    /// Whether a complete first message has arrived and was accepted. Until then the server limits
    /// the memory that the client uses, and its time (`limits::store_newcomers_bytes`,
    /// `limits::store_newcomer_time`).
    virtual bool has_begun() const = 0;

    /// How many bytes the extension holds for the client, roughly. They count towards the client's
    /// limits at the server.
    virtual std::size_t held() const { return 0; }

    /// How many of these are for a message that is incomplete. If they are many, the server limits
    /// them and their time as before the first message.
    virtual std::size_t held_for_part() const { return 0; }
  };

  virtual ~store_extension() = default;

  /// The first bytes of its clients. The first byte is at least 32, so no TCPStore operation begins
  /// like this.
  virtual std::string_view greeting() const = 0;

  /// Runs as long as the server does, on its strand; cancelled when the server stops.
  virtual task<void> run() = 0;

  /// Called when a client has sent the greeting.
  virtual std::unique_ptr<conversation> begin(client& peer) = 0;
};

}  // namespace elastic::detail
