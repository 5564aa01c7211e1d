// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/free_port.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/port_choice.hpp>
#include <elastic/net/detail/port_lease.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <optional>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Binds a socket for a moment. Result: the port; 0 if that failed, for the reason in errno.
inline std::uint16_t bound_port(asio::ip::tcp::endpoint end) {
  auto size = static_cast<socklen_t>(end.size());
  const unique_fd socket(
      ::socket(end.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket || ::bind(socket.get(), end.data(), size) != 0 ||
      ::getsockname(socket.get(), end.data(), &size) != 0) {
    return 0;
  }
  return end.port();
}

}  // namespace detail

ELASTIC_DECL std::uint16_t free_port(const std::string& address) {
  detail::asio_error_code failure;
  const auto parsed = asio::ip::make_address(address, failure);
  if (failure) {
    throw error(errc::invalid_argument, fmt::format("'{}' is not a numeric address", address));
  }
  // Does not need an event loop: a node asks for a port in each round.
  detail::random_source random;
  const int first_of_kernel = detail::first_port_of_kernel();
  constexpr int tries = 100;
  for (int tried = 0; tried < tries; ++tried) {
    const std::optional<std::uint16_t> chosen = detail::port_below(first_of_kernel, random);
    if (!chosen) break;
    const bool is_free = detail::bound_port({parsed, *chosen}) != 0;
    if (is_free && detail::port_lease::of(*chosen)) return *chosen;
  }
  const std::uint16_t of_kernel = detail::bound_port({parsed, 0});
  if (of_kernel == 0) {
    const detail::asio_error_code reason(errno, asio::error::get_system_category());
    throw error(errc::connection_failed,
                fmt::format("no port of {} can be bound: {}", address, reason.message()));
  }
  return of_kernel;
}

}  // namespace elastic
