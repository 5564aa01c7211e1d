// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/listen_point.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/local_address.hpp>

#include <algorithm>

namespace elastic::detail {

ELASTIC_DECL listen_point
choose_listen_point(const std::string& host, const std::vector<asio::ip::address>& addresses,
                    const std::function<bool(const asio::ip::address&)>& is_own) {
  listen_point point;
  if (is_loopback(host)) {
    point.address = host;
    return point;
  }
  std::vector<asio::ip::address>& own = point.besides;
  for (const asio::ip::address& entry : addresses) {
    const asio::ip::address address = plain_address(entry);
    if (address.is_loopback()) return {};
    const bool is_new = std::find(own.begin(), own.end(), address) == own.end();
    if (is_new && is_own(address)) own.push_back(address);
  }
  if (own.empty()) return {};
  point.address = own.front().to_string();
  own.erase(own.begin());
  own.emplace_back(asio::ip::address_v4::loopback());
  own.emplace_back(asio::ip::address_v6::loopback());
  return point;
}

ELASTIC_DECL task<listen_point> find_listen_point(std::string host) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const std::vector<asio::ip::address> addresses = co_await resolve_addresses(host);
  const std::function<bool(const asio::ip::address&)> is_own =
      [&executor](const asio::ip::address& address) { return is_local_address(executor, address); };
  co_return choose_listen_point(host, addresses, is_own);
}

}  // namespace elastic::detail
