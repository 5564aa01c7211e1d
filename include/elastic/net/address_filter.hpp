// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>
#include <elastic/base/detail/asio_network.hpp>

#include <set>
#include <string_view>
#include <vector>

namespace elastic {

/// The addresses that may connect. A new filter admits only loopback addresses.
///
/// An IPv4-mapped IPv6 address counts as the IPv4 address.
class address_filter {
 public:
  ELASTIC_DECL void add(const asio::ip::address& address);

  /// Adds a network, such as "10.0.0.0/8" or "fd00::/8", or an address.
  /// Errors: `errc::invalid_argument`, naming the text.
  ELASTIC_DECL void add_network(std::string_view text);

  /// Adds each address or network of a list, in which they are separated by `separator`.
  /// Errors: as `add_network`.
  ELASTIC_DECL void add_list(std::string_view texts, char separator);

  ELASTIC_DECL bool admits(const asio::ip::address& address) const;

 private:
  std::set<asio::ip::address> addresses_;
  std::vector<asio::ip::network_v4> networks_v4_;
  std::vector<asio::ip::network_v6> networks_v6_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/address_filter.ipp>
#endif
