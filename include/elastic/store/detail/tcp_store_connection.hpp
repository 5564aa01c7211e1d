// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_strand.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/detail/tcp_store_bounds.hpp>
#include <elastic/store/detail/tcp_store_budget.hpp>
#include <elastic/store/detail/tcp_store_legacy_dialect.hpp>
#include <elastic/store/detail/tcp_store_newcomers.hpp>
#include <elastic/store/detail/tcp_store_session.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

using store_strand = asio::strand<asio::any_io_executor>;

/// Where the connections of a server account for the memory that they use.
struct tcp_store_accounts {
  std::shared_ptr<tcp_store_budget> all;
  std::shared_ptr<tcp_store_newcomers> newcomers;
};

/// One client of a server: a session and the rules by which bytes move, without the way to move
/// them. A transport derives from it: it passes what arrives to `received`, sends on request, and
/// calls `advance` after it has sent something.
///
/// Everything except the two calls of `listener` runs on the strand.
class tcp_store_connection : public key_value_engine::listener,
                             public store_extension::client,
                             public tcp_store_budget::client,
                             public tcp_store_newcomers::client,
                             public std::enable_shared_from_this<tcp_store_connection> {
 public:
  /// Called once, on the strand, when the connection is closed and none of its operations is
  /// pending. The text says what the client did wrong; empty: it left by itself.
  using gone_handler = std::function<void(tcp_store_connection&, const std::string& complaint)>;
  ELASTIC_DECL tcp_store_connection(store_strand strand, std::shared_ptr<key_value_engine> engine,
                                    const tcp_store_bounds& bounds,
                                    tcp_store_legacy_dialect dialect, tcp_store_accounts accounts,
                                    gone_handler on_gone);

  ELASTIC_DECL ~tcp_store_connection() override;
  tcp_store_connection(const tcp_store_connection&) = delete;
  tcp_store_connection& operator=(const tcp_store_connection&) = delete;

  /// Starts to read. `further` may be null. With a secret, the client must prove that it has it
  /// before any of its requests are read.
  ELASTIC_DECL void start(std::shared_ptr<store_extension> further,
                          const std::optional<job_secret>& secret);

  /// The client's address when `start` was called.
  const asio::ip::address& peer() const { return peer_; }

  /// Whether the client's requests are read.
  bool is_trusted() const { return !secret_ || (secure_ && secure_->is_ready()); }

  /// Whether the client has sent a first message that was accepted.
  bool has_begun() const { return has_begun_; }

  /// Whether the client talks to the server's extension.
  bool is_of_extension() const { return session_.is_of_extension(); }

  /// Closes the connection as soon as all output is sent.
  ELASTIC_DECL void finish();

  /// Closes the connection now. `gone_handler` follows, at once or later.
  ELASTIC_DECL void close();

  /// Discards unsent output now, and closes the connection soon.
  ELASTIC_DECL void drop(std::string complaint) override;
  ELASTIC_DECL void evict(tcp_store_newcomers::problem why) override;
  ELASTIC_DECL void send_busy_alert();
  ELASTIC_DECL void send(std::string_view bytes) override;
  ELASTIC_DECL void hang_up() override;

  asio::ip::tcp::endpoint here() const override { return end_of(&::getsockname); }
  asio::ip::tcp::endpoint there() const override { return end_of(&::getpeername); }

  ELASTIC_DECL void on_ready(key_value_engine::wait_id wait) noexcept override;
  ELASTIC_DECL void on_change(const key_value_engine::change_pointer& change) noexcept override;

 protected:
  bool is_newcomer() const { return is_newcomer_; }

  // ---- implemented by the transport ----------------------------------------------------------

  /// Starts to receive, unless it does already.
  virtual void receive() = 0;

  /// Sends all of `output` or takes it over, leaving it empty; sets `is_sending_` while something
  /// is unsent. Called only when nothing is unsent.
  virtual void transmit(std::string& output) = 0;

  /// How many bytes `transmit` has taken over but not sent yet.
  virtual std::size_t unsent() const = 0;

  /// Closes the socket and ends pending operations.
  virtual void shut() = 0;

  /// Whether a pending operation refers to this object.
  virtual bool is_busy() const = 0;

  virtual int descriptor() const = 0;

  // ---- called by the transport ---------------------------------------------------------------

  /// Takes bytes that have arrived.
  ELASTIC_DECL void received(std::string_view bytes);

  /// Whether to execute and to read nothing more until the output is sent.
  bool is_paused() const { return session_.current() == tcp_store_session::state::paused; }

  /// Whether so much output is waiting that nothing more should be read.
  ELASTIC_DECL bool is_backed_up() const;

  /// Sends pending output, executes the requests that waited for that, then continues to read. Does
  /// nothing during a send: the transport calls it again afterwards.
  ELASTIC_DECL void advance();

  /// Informs the server if the connection is closed and no operation is pending.
  ELASTIC_DECL void tell_if_gone();

  store_strand strand_;
  bool is_closed_ = false;
  bool is_sending_ = false;

 private:
  bool is_output_due() const { return session_.unsent() != 0 || !wire_.empty(); }
  ELASTIC_DECL void transmit_output();

  // Takes bytes from a client that needs the secret, as they arrive.
  ELASTIC_DECL void decipher(std::string_view bytes);

  // Sends output that another client caused. Does not execute this client's requests: they would
  // run within a request of the other client.
  ELASTIC_DECL void send_aside();
  ELASTIC_DECL void pass_on(const key_value_engine::change& change);

  // Whether so many more bytes may wait to be sent; otherwise drops this client.
  ELASTIC_DECL bool has_room(std::size_t bytes);

  // Reports to the budget what this client uses, plus `extra` that it is about to use.
  ELASTIC_DECL void settle(std::size_t extra = 0);
  ELASTIC_DECL std::size_t held() const;
  ELASTIC_DECL void settle_newcomer(std::size_t bytes);
  ELASTIC_DECL asio::ip::tcp::endpoint end_of(int (*ask)(int, sockaddr*, socklen_t*)) const;

  tcp_store_session session_;
  std::optional<job_secret> secret_;
  asio::ip::address peer_;
  // Created with the client's first message.
  std::unique_ptr<secure_session> secure_;
  // Encrypted output that the transport does not have yet.
  std::string wire_;
  // Whether the transport has received any encrypted output.
  bool has_transmitted_ = false;
  tcp_store_accounts accounts_;
  gone_handler on_gone_;
  std::size_t settled_ = 0;
  bool has_begun_ = false;
  bool is_newcomer_ = false;
  bool is_dropped_ = false;
  bool is_executing_ = false;
  bool is_finishing_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/tcp_store_connection.ipp>
#endif
