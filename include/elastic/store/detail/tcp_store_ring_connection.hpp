// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/ring.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/tcp_store_bounds.hpp>
#include <elastic/store/detail/tcp_store_connection.hpp>
#include <elastic/store/detail/tcp_store_legacy_dialect.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace elastic::detail {

/// The transport over an io_uring: the kernel receives without a call each time, and one call
/// submits what all connections send in one turn of the loop.
class tcp_store_ring_connection final : public tcp_store_connection {
 public:
  /// @param fd  a socket in blocking mode, which this object closes
  tcp_store_ring_connection(int fd, std::shared_ptr<ring> io, store_strand strand,
                            std::shared_ptr<key_value_engine> engine,
                            const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect,
                            tcp_store_accounts accounts, gone_handler on_gone);

  ~tcp_store_ring_connection() override { ::close(fd_); }

 private:
  void receive() override;
  void on_received(const ring::completion& done) noexcept;
  void transmit(std::string& output) override;
  void on_sent(const ring::completion& done) noexcept;
  std::size_t unsent() const override { return on_the_way_.size(); }
  void shut() override;

  bool is_busy() const override { return receiving_.running() || sending_.running(); }

  int descriptor() const override { return fd_; }

  std::shared_ptr<ring> ring_;
  int fd_;
  std::string on_the_way_;
  ring::member_operation<&tcp_store_ring_connection::on_received> receiving_{*this};
  ring::member_operation<&tcp_store_ring_connection::on_sent> sending_{*this};
};

inline tcp_store_ring_connection::tcp_store_ring_connection(
    int fd, std::shared_ptr<ring> io, store_strand strand, std::shared_ptr<key_value_engine> engine,
    const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect, tcp_store_accounts accounts,
    gone_handler on_gone)
    : tcp_store_connection(std::move(strand), std::move(engine), bounds, dialect,
                           std::move(accounts), std::move(on_gone)),
      ring_(std::move(io)),
      fd_(fd) {}

inline void tcp_store_ring_connection::receive() {
  if (!receiving_.running()) ring_->receive(receiving_, fd_, shared_from_this());
}

inline void tcp_store_ring_connection::on_received(const ring::completion& done) noexcept {
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

inline void tcp_store_ring_connection::transmit(std::string& output) {
  on_the_way_.swap(output);
  is_sending_ = true;
  ring_->send(sending_, fd_, on_the_way_, shared_from_this());
}

inline void tcp_store_ring_connection::on_sent(const ring::completion& done) noexcept {
  constexpr std::size_t output_kept = 1024;
  is_sending_ = false;
  on_the_way_.clear();
  if (on_the_way_.capacity() > output_kept) on_the_way_ = {};
  if (is_closed_) return tell_if_gone();
  if (done.error()) return close();
  advance();
}

inline void tcp_store_ring_connection::shut() {
  if (!is_busy()) return;  // the descriptor is closed at once
  // Ends the connection for the client now. The descriptor stays open until no operation uses it.
  ::shutdown(fd_, SHUT_RDWR);
  ring_->cancel(receiving_);
  ring_->cancel(sending_);
}

}  // namespace elastic::detail
