// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/candidate_addresses.hpp>

#include <elastic/net/local_address.hpp>

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace elastic::detail {

inline bool has_address(const std::vector<asio::ip::address>& addresses,
                        const asio::ip::address& address) {
  return std::any_of(addresses.begin(), addresses.end(), [&](const asio::ip::address& each) {
    return plain_address(each) == plain_address(address);
  });
}

ELASTIC_DECL std::string objection_to(const candidate_addresses& addresses) {
  for (std::size_t second = 0; second < addresses.list.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (addresses.list[first].port != addresses.list[second].port) continue;
      for (const asio::ip::address& address : addresses.known[second]) {
        if (!has_address(addresses.known[first], address)) continue;
        return fmt::format("{} and {} are one server, {}: each endpoint needs a host of its own",
                           to_text(addresses.list[first]), to_text(addresses.list[second]),
                           plain_address(address).to_string());
      }
    }
  }
  return {};
}

ELASTIC_DECL std::string objection_to_local_addr(
    const candidate_addresses& addresses, const std::string& local_addr, int served,
    const std::function<bool(const asio::ip::address&)>& is_own) {
  asio_error_code not_an_address;
  const asio::ip::address literal = asio::ip::make_address(local_addr, not_an_address);
  for (std::size_t place = 0; place < addresses.list.size(); ++place) {
    const std::vector<asio::ip::address>& known = addresses.known[place];
    const bool is_named = addresses.list[place].host == local_addr ||
                          (!not_an_address && has_address(known, literal));
    if (!is_named || known.empty() || static_cast<int>(place) == served) continue;
    if (std::any_of(known.begin(), known.end(), is_own)) continue;
    return fmt::format(
        "'{}' is {}, which is another host: leave it out, or name an address of this one",
        local_addr, to_text(addresses.list[place]));
  }
  return {};
}

}  // namespace elastic::detail
