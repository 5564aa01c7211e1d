// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_ring_connection.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL tcp_store_ring_connection::tcp_store_ring_connection(
    int fd, std::shared_ptr<ring> io, store_strand strand, std::shared_ptr<key_value_engine> engine,
    const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect, tcp_store_accounts accounts,
    gone_handler on_gone)
    : tcp_store_connection(std::move(strand), std::move(engine), bounds, dialect,
                           std::move(accounts), std::move(on_gone)),
      ring_(std::move(io)),
      fd_(fd) {}

ELASTIC_DECL void tcp_store_ring_connection::receive() {
  if (!receiving_.running()) ring_->receive(receiving_, fd_, shared_from_this());
}

ELASTIC_DECL void tcp_store_ring_connection::on_received(const ring::completion& done) noexcept {
  if (is_closed_) return tell_if_gone();
  if (!done.last) {
    received(done.data);
    if (is_paused() || is_backed_up()) ring_->cancel(receiving_);
    return advance();
  }
  // A pause stopped it: `advance` continues once the output is sent. The same holds for an end
  // while something is unsent, because the client may have closed only its own direction.
  if (is_sending_ || is_paused()) return;
  if (done.result == -ECANCELED) return receive();
  close();
}

ELASTIC_DECL void tcp_store_ring_connection::transmit(std::string& output) {
  on_the_way_.swap(output);
  is_sending_ = true;
  ring_->send(sending_, fd_, on_the_way_, shared_from_this());
}

ELASTIC_DECL void tcp_store_ring_connection::on_sent(const ring::completion& done) noexcept {
  constexpr std::size_t output_kept = 1024;
  is_sending_ = false;
  on_the_way_.clear();
  if (on_the_way_.capacity() > output_kept) on_the_way_ = {};
  if (is_closed_) return tell_if_gone();
  if (done.error()) return close();
  advance();
}

ELASTIC_DECL void tcp_store_ring_connection::shut() {
  if (!is_busy()) return;  // the descriptor is closed at once
  // Ends the connection for the client now. The descriptor stays open until no operation uses it.
  ::shutdown(fd_, SHUT_RDWR);
  ring_->cancel(receiving_);
  ring_->cancel(sending_);
}

}  // namespace elastic::detail
