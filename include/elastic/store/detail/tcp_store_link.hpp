// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/detail/tcp_store_protocol.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

namespace elastic::detail {

/// One connection of a client to a TCPStore server: requests are written into `out()` and sent by
/// `flush`, replies are read in their order.
///
/// Errors: what the socket says, as `std::system_error`; `errc::protocol_violation`.
/// Cancellation of all members: all types; the link is then of no use, but see `cancel_wait`.
class tcp_store_link {
 public:
  explicit tcp_store_link(asio::any_io_executor executor) : socket_(std::move(executor)) {}

  /// Connects to the first address that accepts.
  task<void> connect(std::vector<asio::ip::tcp::endpoint> addresses) {
    asio::error_code failure = asio::error::host_not_found;
    for (const auto& address : addresses) {
      asio::error_code ignored;
      socket_.close(ignored);
      socket_.open(address.protocol(), failure);
      if (failure) continue;
      ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
      auto [refused] = co_await socket_.async_connect(address, as_result);
      failure = refused;
      if (!failure || failure == asio::error::operation_aborted) break;
    }
    if (failure) throw std::system_error(failure);
    socket_.non_blocking(true);
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }

  /// Ends what is under way with `operation_aborted`.
  void close() {
    asio::error_code ignored;
    socket_.close(ignored);
  }

  /// Where requests are written before they are sent.
  std::string& out() { return out_; }

  task<void> flush() {
    const std::string sending = std::exchange(out_, {});
    co_await asio::async_write(socket_, asio::buffer(sending), asio::use_awaitable);
  }

  task<char> read_byte() {
    co_await settle();
    co_return co_await next_byte();
  }

  task<std::int64_t> read_number() {
    co_await settle();
    co_await fill(sizeof(std::int64_t));
    co_return take_integer<std::int64_t>();
  }

  /// @param bound  the most bytes that are taken
  task<std::string> read_text(std::size_t bound) {
    co_await settle();
    co_await fill(sizeof(std::uint64_t));
    const auto size = take_integer<std::uint64_t>();
    if (size > bound) {
      throw error(errc::protocol_violation,
                  fmt::format("the store sent a value of {} bytes; up to {} are taken", size,
                              bound));
    }
    co_await fill(static_cast<std::size_t>(size));
    std::string text = in_.substr(taken_, static_cast<std::size_t>(size));
    take(text.size());
    co_return text;
  }

  /// Gives up the wait whose reply is due, without waiting for the server's answer: whoever uses
  /// the link next skips it.
  /// Result: whether the link can be used again.
  bool cancel_wait(const request_writer& write) {
    if (!write.knows(store_op::cancel_wait) || !socket_.is_open()) return false;
    std::string request;
    write.operation(request, store_op::cancel_wait);
    asio::error_code failure;
    const std::size_t sent = socket_.write_some(asio::buffer(request), failure);
    if (failure || sent != request.size()) return false;
    ++cancelled_waits_;
    return true;
  }

 private:
  // Each cancelled wait is answered by WAIT_CANCELED, after the STOP_WAITING of one that ended
  // before the server heard of it.
  task<void> settle() {
    while (cancelled_waits_ > 0) {
      const char reply = co_await next_byte();
      if (reply == reply_wait_cancelled) {
        --cancelled_waits_;
      } else if (reply != reply_stop_waiting) {
        throw error(errc::protocol_violation, "the store did not answer CANCEL_WAIT");
      }
    }
  }

  task<char> next_byte() {
    co_await fill(1);
    const char byte = in_[taken_];
    take(1);
    co_return byte;
  }

  // Reads until so many bytes are there.
  task<void> fill(std::size_t size) {
    std::array<char, 4096> piece;
    while (in_.size() - taken_ < size) {
      const std::size_t count =
          co_await socket_.async_read_some(asio::buffer(piece), asio::use_awaitable);
      in_.append(piece.data(), count);
    }
  }

  template <class Integer>
  Integer take_integer() {
    const auto value = load_integer<Integer>(in_.data() + taken_);
    take(sizeof value);
    return value;
  }

  void take(std::size_t size) {
    taken_ += size;
    if (taken_ < in_.size()) return;
    in_.clear();
    taken_ = 0;
  }

  asio::ip::tcp::socket socket_;
  std::string out_;
  std::string in_;
  std::size_t taken_ = 0;
  int cancelled_waits_ = 0;
};

}  // namespace elastic::detail
