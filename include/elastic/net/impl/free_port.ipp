// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/free_port.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::uint16_t free_port(const std::string& address) {
  asio::error_code failure;
  const auto parsed = asio::ip::make_address(address, failure);
  if (failure) {
    throw error(errc::invalid_argument, fmt::format("'{}' is not a numeric address", address));
  }
  asio::io_context context(1);
  asio::ip::tcp::acceptor acceptor(context);
  const asio::ip::tcp::endpoint any_port(parsed, 0);
  acceptor.open(any_port.protocol(), failure);
  if (!failure) acceptor.bind(any_port, failure);
  if (failure) {
    throw error(errc::connection_failed,
                fmt::format("no port of {} can be bound: {}", address, failure.message()));
  }
  return acceptor.local_endpoint().port();
}

}  // namespace elastic
