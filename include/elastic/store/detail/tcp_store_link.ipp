// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_link.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/socket_hook.hpp>
#include <elastic/net/keep_alive.hpp>

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL task<void> tcp_store_link::connect(std::vector<asio::ip::tcp::endpoint> addresses) {
  asio_error_code failure = asio::error::host_not_found;
  for (const auto& address : addresses) {
    asio_error_code ignored;
    socket_.close(ignored);
    socket_.open(address.protocol(), failure);
    if (failure) continue;
    ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
    call_socket_hook(socket_.native_handle());
    auto [refused] = co_await socket_.async_connect(address, as_result);
    failure = refused;
    if (!failure || failure == asio::error::operation_aborted) break;
  }
  if (failure) throw asio_system_error(failure);
  socket_.non_blocking(true);
  socket_.set_option(asio::ip::tcp::no_delay(true));
  keep_alive_as_client(socket_.native_handle());
}

ELASTIC_DECL task<void> tcp_store_link::secure(job_secret secret) {
  std::array<char, 1024> piece;
  secure_ = std::make_unique<secure_session>(secret, session_role::client);
  while (!secure_->is_ready()) {
    const std::string output = secure_->take_output();
    co_await asio::async_write(socket_, asio::buffer(output), asio::use_awaitable);
    const std::size_t count =
        co_await socket_.async_read_some(asio::buffer(piece), asio::use_awaitable);
    take_in({piece.data(), count});
  }
}

ELASTIC_DECL std::string tcp_store_link::enciphered(std::string bytes) {
  if (!secure_) return bytes;
  secure_->send(bytes);
  return secure_->take_output();
}

ELASTIC_DECL void tcp_store_link::take_in(std::string_view bytes) {
  if (secure_) {
    secure_->received(bytes, in_);
  } else {
    in_.append(bytes);
  }
}

ELASTIC_DECL void tcp_store_link::close() {
  asio_error_code ignored;
  socket_.close(ignored);
}

ELASTIC_DECL bool tcp_store_link::is_open() {
  if (!socket_.is_open() || taken_ < in_.size()) return false;
  char byte = 0;
  const ssize_t size = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size > 0) return cancelled_waits_ > 0;
  return size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

ELASTIC_DECL task<void> tcp_store_link::flush() {
  const std::string sending = enciphered(std::exchange(out_, {}));
  co_await asio::async_write(socket_, asio::buffer(sending), asio::use_awaitable);
}

ELASTIC_DECL task<char> tcp_store_link::read_byte() {
  co_await settle();
  co_return co_await next_byte();
}

ELASTIC_DECL task<std::int64_t> tcp_store_link::read_number() {
  co_await settle();
  co_await fill(sizeof(std::int64_t));
  co_return take_integer<std::int64_t>();
}

ELASTIC_DECL task<std::string> tcp_store_link::read_text(std::size_t bound) {
  co_await settle();
  co_await fill(sizeof(std::uint64_t));
  const auto size = take_integer<std::uint64_t>();
  if (size > bound) {
    throw error(errc::protocol_violation,
                fmt::format("the store sent a value of {} bytes; up to {} are taken", size, bound));
  }
  co_await fill(static_cast<std::size_t>(size));
  std::string text = in_.substr(taken_, static_cast<std::size_t>(size));
  take(text.size());
  co_return text;
}

ELASTIC_DECL bool tcp_store_link::cancel_wait(const request_writer& write) {
  if (!write.knows(store_op::cancel_wait) || !socket_.is_open()) return false;
  std::string request;
  write.operation(request, store_op::cancel_wait);
  request = enciphered(std::move(request));
  asio_error_code failure;
  const std::size_t sent = socket_.write_some(asio::buffer(request), failure);
  if (failure || sent != request.size()) return false;
  ++cancelled_waits_;
  return true;
}

ELASTIC_DECL task<void> tcp_store_link::settle() {
  while (cancelled_waits_ > 0) {
    const char reply = co_await next_byte();
    if (reply == reply_wait_cancelled) {
      --cancelled_waits_;
    } else if (reply != reply_stop_waiting) {
      throw error(errc::protocol_violation, "the store did not answer CANCEL_WAIT");
    }
  }
}

ELASTIC_DECL task<char> tcp_store_link::next_byte() {
  co_await fill(1);
  const char byte = in_[taken_];
  take(1);
  co_return byte;
}

ELASTIC_DECL task<void> tcp_store_link::fill(std::size_t size) {
  std::array<char, 4096> piece;
  while (in_.size() - taken_ < size) {
    const std::size_t count =
        co_await socket_.async_read_some(asio::buffer(piece), asio::use_awaitable);
    take_in({piece.data(), count});
  }
}

ELASTIC_DECL void tcp_store_link::take(std::size_t size) {
  taken_ += size;
  if (taken_ < in_.size()) return;
  in_.clear();
  taken_ = 0;
}

}  // namespace elastic::detail
