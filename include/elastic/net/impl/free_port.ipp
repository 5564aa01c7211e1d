// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/free_port.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>

#include <sys/socket.h>

#include <cerrno>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::uint16_t free_port(const std::string& address) {
  detail::asio_error_code failure;
  const auto parsed = asio::ip::make_address(address, failure);
  if (failure) {
    throw error(errc::invalid_argument, fmt::format("'{}' is not a numeric address", address));
  }
  // Does not need an event loop: a node asks for a port in each round.
  asio::ip::tcp::endpoint end(parsed, 0);
  auto size = static_cast<socklen_t>(end.size());
  const detail::unique_fd socket(
      ::socket(end.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket || ::bind(socket.get(), end.data(), size) != 0 ||
      ::getsockname(socket.get(), end.data(), &size) != 0) {
    const detail::asio_error_code reason(errno, asio::error::get_system_category());
    throw error(errc::connection_failed,
                fmt::format("no port of {} can be bound: {}", address, reason.message()));
  }
  return end.port();
}

}  // namespace elastic
