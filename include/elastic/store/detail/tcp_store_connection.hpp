// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/store/detail/tcp_store_session.hpp>
#include <elastic/store/key_value_engine.hpp>
#include <elastic/store/store_extension.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/socket.h>

namespace elastic::detail {

using store_strand = asio::strand<asio::any_io_executor>;

/// One client of a server: a session and the rules by which bytes move, without saying how. The
/// transport derives from it: it brings what arrives to `received`, sends when told to, and calls
/// `advance` when something was sent.
///
/// Everything but the two calls of `listener` happens on the strand.
class tcp_store_connection : public key_value_engine::listener,
                             public store_extension::client,
                             public std::enable_shared_from_this<tcp_store_connection> {
 public:
  /// Called once, on the strand, when the connection is closed and none of its operations is
  /// under way. The text says what the client did wrong, empty where it went by itself.
  using gone_handler = std::function<void(tcp_store_connection&, const std::string& complaint)>;

  tcp_store_connection(store_strand strand, std::shared_ptr<key_value_engine> engine,
                       const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect,
                       gone_handler on_gone)
      : strand_(std::move(strand)),
        session_(std::move(engine), bounds, dialect),
        on_gone_(std::move(on_gone)) {}

  /// Begins to read. `further` may be null.
  void start(std::shared_ptr<store_extension> further) {
    session_.listen(weak_from_this());
    if (further) session_.extend(std::move(further), *this);
    receive();
  }

  /// Closes it as soon as what it has to say is said.
  void finish() {
    is_finishing_ = true;
    advance();
  }

  /// Closes it now; `gone_handler` follows, at once or later.
  void close() {
    if (is_closed_) return;
    is_closed_ = true;
    session_.close();
    shut();
    tell_if_gone();
  }

  void send(std::string_view bytes) override {
    if (is_closed_) return;
    session_.output().append(bytes);
    send_aside();
  }

  void hang_up() override {
    is_finishing_ = true;
    if (!is_executing_) advance();
  }

  asio::ip::tcp::endpoint here() const override { return end_of(&::getsockname); }
  asio::ip::tcp::endpoint there() const override { return end_of(&::getpeername); }

  void on_ready(key_value_engine::wait_id wait) noexcept override {
    if (strand_.running_in_this_thread()) {
      if (session_.ready(wait)) send_aside();
      return;
    }
    asio::post(strand_, [self = shared_from_this(), wait] {
      if (self->session_.ready(wait)) self->send_aside();
    });
  }

  void on_change(const key_value_engine::change& what) noexcept override {
    if (strand_.running_in_this_thread()) {
      session_.changed(what);
      send_aside();
      return;
    }
    asio::post(strand_, [self = shared_from_this(), what] {
      self->session_.changed(what);
      self->send_aside();
    });
  }

 protected:
  // ---- what the transport does ---------------------------------------------------------------

  /// Begins to receive, unless it does already.
  virtual void receive() = 0;

  /// Sends all of `output` or takes it over, leaving it empty; sets `is_sending_` while something
  /// is unsent. Called only while nothing is.
  virtual void transmit(std::string& output) = 0;

  /// Closes the socket and ends what is under way.
  virtual void shut() = 0;

  /// Whether an operation is under way that refers to this object.
  virtual bool is_busy() const = 0;

  virtual int descriptor() const = 0;

  // ---- what the transport calls --------------------------------------------------------------

  /// Bytes that have arrived.
  void received(std::string_view bytes) {
    is_executing_ = true;
    session_.consume(bytes);
    is_executing_ = false;
  }

  /// Whether nothing more is to be executed, nor to be read, until the output is sent.
  bool is_paused() const { return session_.current() == tcp_store_session::state::paused; }

  /// Sends what is there to be sent, executes what waited for that, then reads on. Does nothing
  /// while something is being sent: the transport calls again when it is.
  void advance() {
    if (is_sending_) return;
    // Enough to keep a socket busy, little enough to keep other clients from waiting.
    constexpr int most_rounds = 16;
    is_executing_ = true;
    for (int round = 0; round < most_rounds && !is_closed_; ++round) {
      if (!session_.output().empty()) transmit(session_.output());
      if (is_closed_ || is_sending_) break;
      if (!is_paused() || is_finishing_) break;
      session_.resume();
    }
    is_executing_ = false;
    if (is_closed_) return tell_if_gone();
    if (is_sending_) return;
    if (is_finishing_) return close();
    if (!session_.output().empty()) {
      asio::post(strand_, [self = shared_from_this()] {
        if (!self->is_closed_) self->advance();
      });
      return;
    }
    if (session_.current() == tcp_store_session::state::ended) return close();
    receive();
  }

  /// Tells the server, where the connection is closed and nothing of it is under way.
  void tell_if_gone() {
    if (!is_closed_ || is_busy() || is_executing_ || !on_gone_) return;
    // The handler drops the server's reference, which may be the last one.
    const auto self = shared_from_this();
    const auto tell = std::exchange(on_gone_, nullptr);
    tell(*this, session_.complaint());
  }

  store_strand strand_;
  bool is_closed_ = false;
  bool is_sending_ = false;

 private:
  // What another client caused. The requests of this one are left alone: each would otherwise run
  // within a request of the other.
  void send_aside() {
    if (is_closed_ || is_executing_) return;
    if (session_.output().size() > limits::store_reply_bytes) {
      session_.fail("does not read what it asked to be told");
      return close();
    }
    if (is_sending_) return;
    is_executing_ = true;
    transmit(session_.output());
    is_executing_ = false;
    tell_if_gone();
  }

  asio::ip::tcp::endpoint end_of(int (*ask)(int, sockaddr*, socklen_t*)) const {
    asio::ip::tcp::endpoint end;
    auto size = static_cast<socklen_t>(end.capacity());
    if (ask(descriptor(), end.data(), &size) == 0) end.resize(size);
    return end;
  }

  tcp_store_session session_;
  gone_handler on_gone_;
  bool is_executing_ = false;
  bool is_finishing_ = false;
};

}  // namespace elastic::detail
