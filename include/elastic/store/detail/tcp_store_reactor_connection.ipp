// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_reactor_connection.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL tcp_store_reactor_connection::tcp_store_reactor_connection(
    socket peer, std::span<char> scratch, std::shared_ptr<key_value_engine> engine,
    const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect, tcp_store_accounts accounts,
    gone_handler on_gone)
    : tcp_store_connection(peer.get_executor(), std::move(engine), bounds, dialect,
                           std::move(accounts), std::move(on_gone)),
      socket_(std::move(peer)),
      scratch_(scratch) {}

ELASTIC_DECL void tcp_store_reactor_connection::receive() {
  if (is_receiving_) return;
  is_receiving_ = true;
  socket_.async_read_some(asio::buffer(buffer_),
                          [self = shared_from_this()](asio_error_code failure, std::size_t n) {
                            static_cast<tcp_store_reactor_connection&>(*self).on_read(failure, n);
                          });
}

ELASTIC_DECL void tcp_store_reactor_connection::on_read(asio_error_code failure,
                                                        std::size_t size) {
  is_receiving_ = false;
  if (is_closed_) return tell_if_gone();
  if (failure) return close();
  received({buffer_.data(), size});
  // From clients in their first message, one turn reads only one piece each.
  if (size == buffer_.size() && !is_sending_ && !is_newcomer()) read_more();
  advance();
}

ELASTIC_DECL void tcp_store_reactor_connection::read_more() {
  asio_error_code failure;
  const std::size_t size =
      socket_.read_some(asio::buffer(scratch_.data(), scratch_.size()), failure);
  // The next read reports an end or an error again.
  if (!failure) received({scratch_.data(), size});
}

ELASTIC_DECL void tcp_store_reactor_connection::transmit(std::string& output) {
  asio_error_code failure;
  const std::size_t sent = socket_.write_some(asio::buffer(output), failure);
  if (failure && failure != asio::error::would_block) {
    output.clear();
    return close();
  }
  if (sent < output.size()) {
    unsent_ = std::move(output);
    sent_ = sent;
    is_sending_ = true;
    send_rest();
  }
  output.clear();
  constexpr std::size_t output_kept = 1024;
  if (output.capacity() > output_kept) output.shrink_to_fit();
}

ELASTIC_DECL void tcp_store_reactor_connection::send_rest() {
  socket_.async_write_some(asio::buffer(unsent_) + sent_,
                           [self = shared_from_this()](asio_error_code failure, std::size_t n) {
                             static_cast<tcp_store_reactor_connection&>(*self).on_sent(failure, n);
                           });
}

ELASTIC_DECL void tcp_store_reactor_connection::on_sent(asio_error_code failure,
                                                        std::size_t size) {
  sent_ += size;
  if (!failure && !is_closed_ && sent_ < unsent_.size()) return send_rest();
  is_sending_ = false;
  unsent_ = {};
  sent_ = 0;
  if (is_closed_) return tell_if_gone();
  if (failure) return close();
  advance();
}

ELASTIC_DECL void tcp_store_reactor_connection::shut() {
  asio_error_code ignored;
  socket_.close(ignored);
}

ELASTIC_DECL int tcp_store_reactor_connection::descriptor() const {
  // Asio's function is not const, although it changes nothing.
  return const_cast<socket&>(socket_).native_handle();
}

}  // namespace elastic::detail
