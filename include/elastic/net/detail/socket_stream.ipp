// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/socket_stream.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/socket_hook.hpp>
#include <elastic/net/keep_alive.hpp>

#include <fcntl.h>

#include <tuple>

#include <fmt/format.h>

namespace elastic::detail {

inline task<void> keep_failure(task<std::tuple<asio_error_code>> connecting,
                               asio_error_code& failure) {
  std::tie(failure) = co_await std::move(connecting);
}

ELASTIC_DECL task<asio_error_code> connect_one(asio::ip::tcp::socket& socket,
                                               asio::ip::tcp::endpoint end, duration patience) {
  asio_error_code failure;
  socket.close(failure);
  socket.open(end.protocol(), failure);
  if (failure) co_return failure;
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  call_socket_hook(socket.native_handle());
  system_time time;
  const time_point limit = deadline_after(time.now(), patience);
  task<std::tuple<asio_error_code>> connecting = socket.async_connect(end, as_result);
  co_await with_deadline(time, limit, keep_failure(std::move(connecting), failure));
  const bool is_late = failure == asio::error::operation_aborted && time.now() >= limit;
  co_return is_late ? asio::error::make_error_code(asio::error::timed_out) : failure;
}

ELASTIC_DECL task<asio::ip::tcp::socket> connect_tcp(endpoint server) {
  auto executor = co_await asio::this_coro::executor;
  const auto addresses = co_await resolve_addresses(server.host);
  if (addresses.empty()) {
    throw error(errc::connection_failed,
                fmt::format("the name '{}' cannot be resolved", server.host));
  }
  asio::ip::tcp::socket socket(executor);
  std::string tried;
  for (const auto& address : addresses) {
    const asio::ip::tcp::endpoint end(address, server.port);
    const asio_error_code failure = co_await connect_one(socket, end);
    if (!failure) {
      asio_error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      keep_alive_as_client(socket.native_handle());
      co_return std::move(socket);
    }
    if (failure == asio::error::operation_aborted) throw asio_system_error(failure);
    const endpoint shown{address.to_string(), server.port};
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", to_text(shown), failure.message());
  }
  throw error(errc::connection_failed, tried);
}

ELASTIC_DECL task<std::size_t> socket_stream::read_some(asio::mutable_buffer buffer) {
  auto [failure, size] = co_await socket_.async_read_some(buffer, as_result);
  if (failure == asio::error::eof) co_return 0;
  throw_if(failure);
  co_return size;
}

ELASTIC_DECL task<void> socket_stream::write(std::string bytes) {
  auto [failure, size] = co_await asio::async_write(socket_, asio::buffer(bytes), as_result);
  throw_if(failure);
}

ELASTIC_DECL void socket_stream::close() {
  asio_error_code ignored;
  socket_.close(ignored);
}

ELASTIC_DECL void socket_stream::throw_if(asio_error_code failure) const {
  if (!failure) return;
  if (failure == asio::error::operation_aborted && socket_.is_open()) {
    throw asio_system_error(failure);
  }
  throw error(errc::connection_failed, fmt::format("the connection broke: {}", failure.message()));
}

}  // namespace elastic::detail
