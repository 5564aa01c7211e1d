// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/address_filter.hpp>

#include <elastic/base/error.hpp>
#include <elastic/net/local_address.hpp>

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL void address_filter::add(const asio::ip::address& address) {
  addresses_.insert(plain_address(address));
}

ELASTIC_DECL void address_filter::add_network(std::string_view text) {
  const std::string written(text);
  detail::asio_error_code failure;
  const auto address = asio::ip::make_address(written, failure);
  if (!failure) return add(address);
  const auto network_v4 = asio::ip::make_network_v4(written, failure);
  if (!failure) return networks_v4_.push_back(network_v4);
  const auto network_v6 = asio::ip::make_network_v6(written, failure);
  if (!failure) return networks_v6_.push_back(network_v6);
  throw error(errc::invalid_argument,
              fmt::format("'{}' is neither an address nor a network such as 10.0.0.0/8", written));
}

ELASTIC_DECL void address_filter::add_list(std::string_view texts, char separator) {
  while (!texts.empty()) {
    const std::size_t end = std::min(texts.find(separator), texts.size());
    if (end > 0) add_network(texts.substr(0, end));
    texts.remove_prefix(std::min(end + 1, texts.size()));
  }
}

ELASTIC_DECL bool address_filter::admits(const asio::ip::address& address) const {
  const asio::ip::address plain = plain_address(address);
  if (plain.is_loopback() || addresses_.count(plain) != 0) return true;
  if (plain.is_v4()) {
    return std::any_of(networks_v4_.begin(), networks_v4_.end(), [&](const auto& network) {
      return network.canonical() ==
             asio::ip::network_v4(plain.to_v4(), network.prefix_length()).canonical();
    });
  }
  return std::any_of(networks_v6_.begin(), networks_v6_.end(), [&](const auto& network) {
    return network.canonical() ==
           asio::ip::network_v6(plain.to_v6(), network.prefix_length()).canonical();
  });
}

}  // namespace elastic
