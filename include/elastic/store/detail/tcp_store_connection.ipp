// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_connection.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/local_address.hpp>

#include <sys/socket.h>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// An amount that every client may use is not worth counting.
inline constexpr std::size_t uncounted_client_bytes = 4 * 1024;

ELASTIC_DECL tcp_store_connection::tcp_store_connection(
    store_strand strand, std::shared_ptr<key_value_engine> engine, const tcp_store_bounds& bounds,
    tcp_store_legacy_dialect dialect, tcp_store_accounts accounts, gone_handler on_gone)
    : strand_(std::move(strand)),
      session_(std::move(engine), bounds, dialect),
      accounts_(std::move(accounts)),
      on_gone_(std::move(on_gone)) {}

ELASTIC_DECL tcp_store_connection::~tcp_store_connection() {
  if (settled_ != 0) accounts_.all->set(*this, 0);
  if (is_newcomer_) accounts_.newcomers->remove(*this);
}

ELASTIC_DECL void tcp_store_connection::start(std::shared_ptr<store_extension> further,
                                              const std::optional<job_secret>& secret) {
  secret_ = secret;
  if (secret) peer_ = plain_address(there().address());
  session_.listen(weak_from_this());
  if (further) session_.extend(std::move(further), *this);
  settle();
  if (!is_closed_ && !is_dropped_) receive();
}

ELASTIC_DECL void tcp_store_connection::finish() {
  is_finishing_ = true;
  advance();
}

ELASTIC_DECL void tcp_store_connection::close() {
  if (is_closed_) return;
  is_closed_ = true;
  session_.close();
  shut();
  settle();
  tell_if_gone();
}

ELASTIC_DECL void tcp_store_connection::drop(std::string complaint) {
  if (is_closed_ || is_dropped_) return;
  is_dropped_ = true;
  session_.fail(std::move(complaint));
  wire_ = {};
  secure_.reset();
  // Many can be dropped before the first of them closes, so their memory is released now. A
  // connection that is executing a request still reads its input, and releases it itself.
  if (is_executing_) {
    session_.output() = {};
  } else {
    session_.release();
  }
  // Not here: another client's request may be in progress, in an extension that iterates over its
  // clients.
  post_work(strand_, [self = shared_from_this()] { self->close(); });
}

ELASTIC_DECL void tcp_store_connection::send_busy_alert() {
  if (!secret_ || has_transmitted_) return;
  const std::string_view alert = busy_alert();
  // Nothing was sent before, so the socket has room for it.
  ::send(descriptor(), alert.data(), alert.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

ELASTIC_DECL void tcp_store_connection::evict(tcp_store_newcomers::problem why) {
  is_newcomer_ = false;
  if (why != tcp_store_newcomers::problem::is_late) send_busy_alert();
  std::string_view lacking = "it has not shown that it holds this job's secret";
  if (is_trusted()) {
    lacking = has_begun_ ? "its message is not whole" : "its first message is not whole";
  }
  switch (why) {
    case tcp_store_newcomers::problem::is_late:
      return drop(fmt::format("{} within {} s", lacking, limits::store_newcomer_time.count()));
    case tcp_store_newcomers::problem::are_many:
      return drop(fmt::format("{}, and as many others as may do so at a time came later", lacking));
    case tcp_store_newcomers::problem::hold_much:
      return drop(fmt::format("{}, and all such clients exceed {} bytes", lacking,
                              limits::store_newcomers_bytes));
  }
}

ELASTIC_DECL void tcp_store_connection::send(std::string_view bytes) {
  if (!has_room(bytes.size())) return;
  session_.output().append(bytes);
  send_aside();
}

ELASTIC_DECL void tcp_store_connection::hang_up() {
  is_finishing_ = true;
  if (!is_executing_) advance();
}

ELASTIC_DECL void tcp_store_connection::on_ready(key_value_engine::wait_id wait) noexcept {
  if (strand_.running_in_this_thread()) {
    if (session_.ready(wait)) send_aside();
    return;
  }
  post_work(strand_, [self = shared_from_this(), wait] {
    if (self->session_.ready(wait)) self->send_aside();
  });
}

ELASTIC_DECL void tcp_store_connection::on_change(
    const key_value_engine::change_pointer& change) noexcept {
  if (strand_.running_in_this_thread()) return pass_on(*change);
  post_work(strand_, [self = shared_from_this(), change] { self->pass_on(*change); });
}

ELASTIC_DECL void tcp_store_connection::pass_on(const key_value_engine::change& change) {
  constexpr std::size_t lengths = 32;
  if (!has_room(lengths + change.key.size() + change.old_value.size() + change.new_value.size()))
    return;
  session_.changed(change);
  send_aside();
}

ELASTIC_DECL bool tcp_store_connection::has_room(std::size_t bytes) {
  if (is_closed_ || is_dropped_) return false;
  if (session_.unsent() + unsent() + bytes > limits::store_reply_bytes) {
    drop("does not read the notifications that it requested");
  } else {
    settle(bytes);
  }
  return !is_closed_ && !is_dropped_;
}

ELASTIC_DECL std::size_t tcp_store_connection::held() const {
  if (is_closed_) return 0;
  const std::size_t of_secret = secure_ ? secure_->held() + wire_.size() : 0;
  return session_.held() + unsent() + of_secret;
}

ELASTIC_DECL void tcp_store_connection::settle_newcomer(std::size_t bytes) {
  if (!has_begun_) has_begun_ = session_.has_begun();
  const bool is_open = !is_closed_ && !is_dropped_;
  if (has_begun_) bytes = session_.held_for_part();
  const bool is_unfinished =
      has_begun_ ? bytes > uncounted_client_bytes : secret_ || session_.is_midway();
  const bool is_one = is_open && is_unfinished;
  if (!is_one && !is_newcomer_) return;
  is_newcomer_ = is_one;
  if (is_one) {
    accounts_.newcomers->set(*this, bytes);
  } else {
    accounts_.newcomers->remove(*this);
  }
}

ELASTIC_DECL void tcp_store_connection::settle(std::size_t extra) {
  std::size_t held = this->held() + extra;
  settle_newcomer(held);
  if (held < uncounted_client_bytes || is_closed_) held = 0;
  if (held == settled_) return;
  settled_ = held;
  accounts_.all->set(*this, held);
  if (held <= limits::store_client_bytes) return;
  drop(fmt::format("makes the server hold more than {} bytes", limits::store_client_bytes));
}

ELASTIC_DECL bool tcp_store_connection::is_backed_up() const {
  return session_.unsent() + unsent() > limits::store_reply_pause_bytes;
}

ELASTIC_DECL void tcp_store_connection::received(std::string_view bytes) {
  is_executing_ = true;
  if (secret_) {
    decipher(bytes);
  } else {
    session_.consume(bytes);
  }
  is_executing_ = false;
  settle();
}

ELASTIC_DECL void tcp_store_connection::decipher(std::string_view bytes) {
  if (session_.current() == tcp_store_session::state::ended) return;
  std::string plain;
  try {
    if (!secure_) secure_ = std::make_unique<secure_session>(*secret_, session_role::server);
    secure_->received(bytes, plain);
    wire_ += secure_->take_output();
  } catch (const error& refused) {
    session_.fail(refused.what());
    wire_ += secure_ ? secure_->take_output() : std::string();
    // Thousands can fail at a time, and OpenSSL's memory is not to wait until they are closed. A
    // client that was trusted may still have replies to encrypt.
    if (!is_trusted()) secure_.reset();
  }
  if (!plain.empty()) session_.consume(plain);
}

ELASTIC_DECL void tcp_store_connection::transmit_output() {
  if (!secret_) return transmit(session_.output());
  if (secure_ && session_.unsent() != 0) {
    try {
      secure_->send(std::exchange(session_.output(), {}));
      wire_ += secure_->take_output();
    } catch (const error& failure) {
      return drop(failure.what());
    }
  }
  if (wire_.empty()) return;
  has_transmitted_ = true;
  transmit(wire_);
}

ELASTIC_DECL void tcp_store_connection::advance() {
  if (is_dropped_) return close();
  if (is_sending_) return;
  // Large enough to keep a socket busy, small enough not to delay other clients.
  constexpr int most_rounds = 16;
  is_executing_ = true;
  for (int round = 0; round < most_rounds && !is_closed_ && !is_dropped_; ++round) {
    if (is_output_due()) transmit_output();
    if (is_closed_ || is_sending_) break;
    if (!is_paused() || is_finishing_) break;
    session_.resume();
  }
  is_executing_ = false;
  settle();
  if (is_closed_) return tell_if_gone();
  if (is_dropped_) return close();
  if (is_sending_) return;
  if (is_finishing_) return close();
  if (is_output_due()) {
    post_work(strand_, [self = shared_from_this()] {
      if (!self->is_closed_) self->advance();
    });
    return;
  }
  if (session_.current() == tcp_store_session::state::ended) return close();
  receive();
}

ELASTIC_DECL void tcp_store_connection::tell_if_gone() {
  if (!is_closed_ || is_busy() || is_executing_ || !on_gone_) return;
  // The handler drops the server's reference, which may be the last one.
  const auto self = shared_from_this();
  const auto tell = std::exchange(on_gone_, nullptr);
  tell(*this, session_.complaint());
}

ELASTIC_DECL void tcp_store_connection::send_aside() {
  if (is_closed_ || is_dropped_ || is_executing_ || is_sending_) return;
  is_executing_ = true;
  transmit_output();
  is_executing_ = false;
  settle();
  tell_if_gone();
}

ELASTIC_DECL asio::ip::tcp::endpoint tcp_store_connection::end_of(int (*ask)(int, sockaddr*,
                                                                             socklen_t*)) const {
  asio::ip::tcp::endpoint end;
  auto size = static_cast<socklen_t>(end.capacity());
  if (ask(descriptor(), end.data(), &size) == 0) end.resize(size);
  return end;
}

}  // namespace elastic::detail
