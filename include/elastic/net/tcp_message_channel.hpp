// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/net/message_channel.hpp>
#include <elastic/net/message_frame.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

namespace elastic {

/// Messages over a TCP connection. Made by `tcp_message_connector`.
class tcp_message_channel final : public message_channel,
                                  public std::enable_shared_from_this<tcp_message_channel> {
 public:
  /// @param bound  the most bytes of a message that is taken
  tcp_message_channel(asio::ip::tcp::socket connected, std::size_t bound)
      : socket_(std::move(connected)), flushed_(socket_.get_executor()), in_(bound) {
    flushed_.set();
  }

  /// Sends bytes that are no message, such as a greeting.
  void send_raw(std::string_view bytes) {
    out_.append(bytes);
    if (!is_sending_) send_all();
  }

  void send(std::string message) override {
    append_frame(out_, message);
    if (!is_sending_) send_all();
  }

  task<std::string> receive() override {
    for (;;) {
      if (const auto message = in_.next()) co_return std::string(*message);
      auto [failure, size] =
          co_await socket_.async_read_some(asio::buffer(piece_), detail::as_result);
      if (failure == asio::error::operation_aborted && socket_.is_open()) {
        throw std::system_error(failure);
      }
      if (failure) throw error(errc::connection_failed, why(failure));
      in_.append({piece_.data(), size});
    }
  }

  task<void> flush() override {
    co_await flushed_.wait();
    if (!socket_.is_open()) throw error(errc::connection_failed, "the connection was closed");
  }

  void close() override {
    asio::error_code ignored;
    socket_.close(ignored);
    flushed_.set();
  }

  std::string local_address() const override {
    asio::error_code failure;
    const auto end = socket_.local_endpoint(failure);
    return failure ? std::string() : plain_address(end.address()).to_string();
  }

 private:
  static std::string why(asio::error_code failure) {
    if (failure == asio::error::eof) return "the connection was closed by the other side";
    return fmt::format("the connection broke: {}", failure.message());
  }

  void send_all() {
    if (!socket_.is_open()) return;
    asio::error_code failure;
    const std::size_t sent = socket_.write_some(asio::buffer(out_), failure);
    out_.erase(0, sent);
    if (failure && failure != asio::error::would_block) return close();
    if (out_.empty()) return flushed_.set();
    flushed_.reset();
    is_sending_ = true;
    socket_.async_wait(asio::ip::tcp::socket::wait_write,
                       [self = shared_from_this()](asio::error_code) {
                         self->is_sending_ = false;
                         self->send_all();
                       });
  }

  asio::ip::tcp::socket socket_;
  event_flag flushed_;
  frame_reader in_;
  std::array<char, 1024> piece_;
  std::string out_;
  bool is_sending_ = false;
};

/// Connects to a port at which messages are spoken after a greeting.
class tcp_message_connector final : public message_connector {
 public:
  tcp_message_connector(endpoint at, std::string greeting, std::size_t bound)
      : at_(std::move(at)), greeting_(std::move(greeting)), bound_(bound) {}

  std::string name() const override { return to_text(at_); }

  task<std::shared_ptr<message_channel>> connect() override {
    auto executor = co_await asio::this_coro::executor;
    const auto addresses = co_await detail::resolve_addresses(at_.host, nullptr);
    if (addresses.empty()) {
      throw error(errc::connection_failed, fmt::format("the name '{}' cannot be resolved",
                                                       at_.host));
    }
    asio::ip::tcp::socket socket(executor);
    std::string tried;
    for (const auto& address : addresses) {
      const asio::ip::tcp::endpoint end(address, at_.port);
      auto [failure] = co_await connect_one(socket, end);
      if (!failure) co_return converse(std::move(socket));
      if (failure == asio::error::operation_aborted) throw std::system_error(failure);
      tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", address.to_string(),
                           failure.message());
    }
    throw error(errc::connection_failed, tried);
  }

 private:
  static task<std::tuple<asio::error_code>> connect_one(asio::ip::tcp::socket& socket,
                                                        asio::ip::tcp::endpoint end) {
    asio::error_code failure;
    socket.close(failure);
    socket.open(end.protocol(), failure);
    if (failure) co_return failure;
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    co_return co_await socket.async_connect(end, detail::as_result);
  }

  std::shared_ptr<message_channel> converse(asio::ip::tcp::socket socket) const {
    asio::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    auto channel = std::make_shared<tcp_message_channel>(std::move(socket), bound_);
    channel->send_raw(greeting_);
    return channel;
  }

  endpoint at_;
  std::string greeting_;
  std::size_t bound_;
};

}  // namespace elastic
