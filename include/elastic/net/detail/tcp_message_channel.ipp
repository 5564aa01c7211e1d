// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/tcp_message_channel.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/keep_alive.hpp>
#include <elastic/net/local_address.hpp>

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline std::string local_address_of(const asio::ip::tcp::socket& socket) {
  asio_error_code failure;
  const auto end = socket.local_endpoint(failure);
  return failure ? std::string() : plain_address(end.address()).to_string();
}

inline std::string remote_address_of(const asio::ip::tcp::socket& socket) {
  asio_error_code failure;
  const auto end = socket.remote_endpoint(failure);
  return failure ? std::string() : plain_address(end.address()).to_string();
}

ELASTIC_DECL tcp_message_channel::tcp_message_channel(asio::ip::tcp::socket connected,
                                                      std::size_t bound,
                                                      const std::optional<job_secret>& secret)
    : socket_(std::move(connected)),
      local_address_(local_address_of(socket_)),
      remote_address_(remote_address_of(socket_)),
      flushed_(socket_.get_executor()),
      in_(bound) {
  flushed_.set();
  if (secret) secure_ = std::make_unique<secure_session>(*secret, session_role::client);
}

ELASTIC_DECL void tcp_message_channel::send_raw(std::string_view bytes) { send_bytes(bytes); }

ELASTIC_DECL void tcp_message_channel::send(std::string message) {
  std::string frame;
  append_frame(frame, message);
  send_bytes(frame);
}

ELASTIC_DECL void tcp_message_channel::send_bytes(std::string_view bytes) {
  if (secure_) {
    secure_->send(bytes);
    out_ += secure_->take_output();
  } else {
    out_.append(bytes);
  }
  if (!is_sending_) send_all();
}

ELASTIC_DECL task<std::string> tcp_message_channel::receive() {
  for (;;) {
    if (const auto message = in_.next()) co_return std::string(*message);
    auto [failure, size] = co_await socket_.async_read_some(asio::buffer(piece_), as_result);
    if (failure == asio::error::operation_aborted && socket_.is_open()) {
      throw asio_system_error(failure);
    }
    if (failure) throw error(errc::connection_failed, why(failure));
    take_in({piece_.data(), size});
  }
}

ELASTIC_DECL void tcp_message_channel::take_in(std::string_view bytes) {
  if (!secure_) {
    in_.append(bytes);
    if (std::exchange(has_heard_, true) || !is_secret_needed(bytes)) return;
    throw error(errc::invalid_argument, std::string(own_secret_is_missing));
  }
  std::string plain;
  secure_->received(bytes, plain);
  in_.append(plain);
  out_ += secure_->take_output();
  if (!is_sending_) send_all();
}

ELASTIC_DECL task<void> tcp_message_channel::flush() {
  co_await flushed_.wait();
  if (!socket_.is_open()) throw error(errc::connection_failed, "the connection was closed");
}

ELASTIC_DECL void tcp_message_channel::close() {
  asio_error_code ignored;
  socket_.close(ignored);
  flushed_.set();
}

ELASTIC_DECL std::string tcp_message_channel::why(asio_error_code failure) {
  // The other side may have reset the connection during a write.
  const bool is_closed = failure == asio::error::eof || failure == asio::error::bad_descriptor ||
                         failure == asio::error::connection_reset;
  if (is_closed) return "the connection was closed by the other side";
  return fmt::format("the connection broke: {}", failure.message());
}

ELASTIC_DECL void tcp_message_channel::send_all() {
  if (!socket_.is_open()) return;
  asio_error_code failure;
  const std::size_t sent = socket_.write_some(asio::buffer(out_), failure);
  out_.erase(0, sent);
  if (failure && failure != asio::error::would_block) return close();
  if (out_.empty()) return flushed_.set();
  flushed_.reset();
  is_sending_ = true;
  socket_.async_wait(asio::ip::tcp::socket::wait_write,
                     [self = shared_from_this()](asio_error_code) {
                       self->is_sending_ = false;
                       self->send_all();
                     });
}

ELASTIC_DECL tcp_message_connector::tcp_message_connector(endpoint address, std::string greeting,
                                                          std::size_t bound,
                                                          std::optional<job_secret> secret)
    : at_(std::move(address)),
      greeting_(std::move(greeting)),
      bound_(bound),
      secret_(std::move(secret)) {}

ELASTIC_DECL std::string tcp_message_connector::name() const { return to_text(at_); }

ELASTIC_DECL task<std::shared_ptr<message_channel>> tcp_message_connector::connect() {
  // A dead host does not answer, and its name may resolve to another address by now.
  constexpr std::chrono::seconds address_patience{1};
  auto executor = co_await asio::this_coro::executor;
  const auto addresses = co_await resolve_addresses(at_.host);
  if (addresses.empty()) {
    throw error(errc::connection_failed, fmt::format("the name '{}' cannot be resolved", at_.host));
  }
  asio::ip::tcp::socket socket(executor);
  std::string tried;
  for (const auto& address : addresses) {
    const asio::ip::tcp::endpoint end(address, at_.port);
    const asio_error_code failure = co_await connect_one(socket, end, address_patience);
    if (!failure) co_return converse(std::move(socket));
    if (failure == asio::error::operation_aborted) throw asio_system_error(failure);
    tried +=
        fmt::format("{}{}: {}", tried.empty() ? "" : "; ", address.to_string(), failure.message());
  }
  throw error(errc::connection_failed, tried);
}

ELASTIC_DECL std::shared_ptr<message_channel> tcp_message_connector::converse(
    asio::ip::tcp::socket socket) const {
  asio_error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  keep_alive_as_client(socket.native_handle());
  auto channel = new_shared<tcp_message_channel>(std::move(socket), bound_, secret_);
  channel->send_raw(greeting_);
  return channel;
}

}  // namespace elastic::detail
