// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>

#include <cstdint>
#include <string>

namespace elastic {

/// The address, without the wrapping that IPv6 sockets give to an IPv4 one.
inline asio::ip::address plain_address(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

/// Whether `host` means nothing but the host itself, wherever it is said. (A host's own name may
/// stand for a loopback address on that host and for another one elsewhere.)
inline bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  asio::error_code failure;
  const auto address = asio::ip::make_address(host, failure);
  return !failure && plain_address(address).is_loopback();
}

/// Whether this host has the address, which is found out by binding it.
inline bool is_local_address(const asio::any_io_executor& executor,
                             const asio::ip::address& address) {
  if (address.is_unspecified()) return false;
  const asio::ip::udp::endpoint end(address, 0);
  asio::error_code failure;
  asio::ip::udp::socket trial(executor);
  trial.open(end.protocol(), failure);
  if (!failure) trial.bind(end, failure);
  return !failure;
}

/// The address of this host on the way to another; unspecified where no way leads there. Nothing is
/// sent.
inline asio::ip::address address_towards(const asio::any_io_executor& executor,
                                         const asio::ip::address& other) {
  constexpr std::uint16_t any_port = 9;
  const asio::ip::udp::endpoint there(other, any_port);
  asio::error_code failure;
  asio::ip::udp::socket trial(executor);
  trial.open(there.protocol(), failure);
  if (!failure) trial.connect(there, failure);
  if (failure) return {};
  const auto here = trial.local_endpoint(failure);
  return failure ? asio::ip::address() : plain_address(here.address());
}

}  // namespace elastic
