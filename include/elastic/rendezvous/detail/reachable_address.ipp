// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/reachable_address.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/net/detail/own_loopback.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/net/local_address.hpp>

namespace elastic::detail {

ELASTIC_DECL task<std::string> reachable_address(std::string chosen,
                                                 std::vector<std::string> hosts) {
  auto executor = co_await asio::this_coro::executor;
  if (is_loopback(chosen)) co_return own_loopback(executor, chosen);
  // Documentation addresses: no host has them, and nothing is sent.
  hosts.push_back("192.0.2.1");
  hosts.push_back("2001:db8::1");
  for (const std::string& host : hosts) {
    const auto addresses = co_await resolve_addresses(host);
    for (const auto& address : addresses) {
      const asio::ip::address own = address_towards(executor, address);
      if (!own.is_unspecified() && !own.is_loopback()) co_return own.to_string();
    }
  }
  const std::string name = host_name();
  const auto own = co_await resolve_addresses(name);
  for (const auto& address : own) {
    if (!address.is_loopback()) co_return address.to_string();
  }
  co_return own_loopback(executor);
}

}  // namespace elastic::detail
