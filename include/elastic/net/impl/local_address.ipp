// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/local_address.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/limits.hpp>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

namespace elastic {

ELASTIC_DECL asio::ip::address plain_address(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

ELASTIC_DECL bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  detail::asio_error_code failure;
  const auto address = asio::ip::make_address(host, failure);
  return !failure && plain_address(address).is_loopback();
}

ELASTIC_DECL bool is_local_address(const asio::any_io_executor& executor,
                                   const asio::ip::address& address) {
  if (address.is_unspecified()) return false;
  const asio::ip::udp::endpoint end(address, 0);
  detail::asio_error_code failure;
  asio::ip::udp::socket trial(executor);
  trial.open(end.protocol(), failure);
  if (!failure) trial.bind(end, failure);
  return !failure;
}

ELASTIC_DECL std::vector<asio::ip::address> own_addresses() {
  std::vector<asio::ip::address> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const bool is_up = (entry->ifa_flags & IFF_UP) != 0;
    if (entry->ifa_addr == nullptr || !is_up) continue;
    asio::ip::address address;
    if (entry->ifa_addr->sa_family == AF_INET) {
      const auto* internet = reinterpret_cast<const sockaddr_in*>(entry->ifa_addr);
      address = asio::ip::address_v4(ntohl(internet->sin_addr.s_addr));
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      asio::ip::address_v6::bytes_type bytes;
      const auto* internet = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr);
      std::copy_n(internet->sin6_addr.s6_addr, bytes.size(), bytes.begin());
      address = asio::ip::address_v6(bytes);
    }
    if (address.is_unspecified() || address.is_loopback()) continue;
    if (addresses.size() < limits::node_addresses) addresses.push_back(address);
  }
  ::freeifaddrs(first);
  return addresses;
}

ELASTIC_DECL asio::ip::address address_towards(const asio::any_io_executor& executor,
                                               const asio::ip::address& other) {
  constexpr std::uint16_t any_port = 9;
  const asio::ip::udp::endpoint there(other, any_port);
  detail::asio_error_code failure;
  asio::ip::udp::socket trial(executor);
  trial.open(there.protocol(), failure);
  if (!failure) trial.connect(there, failure);
  if (failure) return {};
  const auto here = trial.local_endpoint(failure);
  return failure ? asio::ip::address() : plain_address(here.address());
}

}  // namespace elastic
