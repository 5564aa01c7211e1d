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
/// PyTorch's clients never meet it, and PyTorch's servers hang up on the greeting.
///
/// Thread-safety: the server calls everything on its strand, and is to be called there.
class store_extension {
 public:
  /// One client, as the extension sees it. Lives as long as the conversation with it.
  class client {
   public:
    /// Sends bytes to it, in order; never waits.
    virtual void send(std::string_view bytes) = 0;

    /// Disconnects it once what was sent has left.
    virtual void hang_up() = 0;

    /// The two ends of the connection; a default one if the system does not tell.
    virtual asio::ip::tcp::endpoint here() const = 0;
    virtual asio::ip::tcp::endpoint there() const = 0;

   protected:
    ~client() = default;
  };

  /// What the extension keeps for one client; destroyed when the connection is gone.
  class conversation {
   public:
    virtual ~conversation() = default;

    /// Bytes that have arrived, in whatever pieces.
    /// Errors: `error`, whose sentence is what the server's log says; the client is disconnected.
    virtual void received(std::string_view bytes) = 0;

    /// Whether a first message has arrived whole and was accepted. Until then the server bounds
    /// what the client makes it hold, and for how long (`limits::store_newcomers_bytes`,
    /// `limits::store_newcomer_time`).
    virtual bool has_begun() const = 0;

    /// How many bytes the extension holds for the client, roughly. They count towards the server's
    /// bounds for the client.
    virtual std::size_t held() const { return 0; }
  };

  virtual ~store_extension() = default;

  /// The first bytes of its clients. The first byte is at least 32, so it is no TCPStore operation.
  virtual std::string_view greeting() const = 0;

  /// Runs as long as the server does, on its strand; cancelled when it stops.
  virtual task<void> run() = 0;

  /// A client has sent the greeting.
  virtual std::unique_ptr<conversation> begin(client& from) = 0;
};

}  // namespace elastic::detail
