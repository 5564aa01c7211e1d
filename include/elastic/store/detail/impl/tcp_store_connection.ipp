// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_connection.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/local_address.hpp>

#include <sys/socket.h>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL tcp_store_connection::tcp_store_connection(store_strand strand,
                                                        std::shared_ptr<key_value_engine> engine,
                                                        const tcp_store_bounds& bounds,
                                                        tcp_store_legacy_dialect dialect,
                                                        std::shared_ptr<tcp_store_budget> budget,
                                                        gone_handler on_gone)
    : strand_(std::move(strand)),
      session_(std::move(engine), bounds, dialect),
      budget_(std::move(budget)),
      on_gone_(std::move(on_gone)) {}

ELASTIC_DECL tcp_store_connection::~tcp_store_connection() {
  if (settled_ != 0) budget_->set(*this, 0);
}

ELASTIC_DECL void tcp_store_connection::start(std::shared_ptr<store_extension> further,
                                              const std::optional<job_secret>& secret) {
  secret_ = secret;
  if (secret) peer_ = plain_address(there().address());
  session_.listen(weak_from_this());
  if (further) session_.extend(std::move(further), *this);
  receive();
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
  session_.output() = {};
  wire_ = {};
  // Not from here: a request of another client may be under way, in an extension that goes through
  // its clients.
  asio::post(strand_, [self = shared_from_this()] { self->close(); });
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
  asio::post(strand_, [self = shared_from_this(), wait] {
    if (self->session_.ready(wait)) self->send_aside();
  });
}

ELASTIC_DECL void tcp_store_connection::on_change(
    const key_value_engine::change_pointer& change) noexcept {
  if (strand_.running_in_this_thread()) return pass_on(*change);
  asio::post(strand_, [self = shared_from_this(), change] { self->pass_on(*change); });
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
    drop("does not read what it asked to be told");
  } else {
    settle(bytes);
  }
  return !is_closed_ && !is_dropped_;
}

ELASTIC_DECL void tcp_store_connection::settle(std::size_t extra) {
  // What every client may have is not worth counting.
  constexpr std::size_t uncounted = 16 * 1024;
  std::size_t held = is_closed_ ? 0 : session_.held() + unsent() + extra;
  if (held < uncounted) held = 0;
  if (held == settled_) return;
  settled_ = held;
  budget_->set(*this, held);
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
  } catch (const error& refused) {
    session_.fail(refused.what());
  }
  if (secure_) wire_ += secure_->take_output();
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
  if (!wire_.empty()) transmit(wire_);
}

ELASTIC_DECL void tcp_store_connection::advance() {
  if (is_dropped_) return close();
  if (is_sending_) return;
  // Enough to keep a socket busy, little enough to keep other clients from waiting.
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
    asio::post(strand_, [self = shared_from_this()] {
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
