// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>
#include <elastic/base/task.hpp>

#include <string>
#include <vector>

namespace elastic {

/// The address; for an IPv4-mapped IPv6 address, the IPv4 address.
ELASTIC_DECL asio::ip::address plain_address(const asio::ip::address& address);

/// Whether `host` means the host itself, on every host. (A host's own name may resolve to a
/// loopback address on that host and to another one elsewhere.)
ELASTIC_DECL bool is_loopback(const std::string& host);

/// Whether this host has the address. Finds out by binding it.
ELASTIC_DECL bool is_local_address(const asio::any_io_executor& executor,
                                   const asio::ip::address& address);

/// The address of this host on the route to another; unspecified if there is no route. Nothing is
/// sent.
ELASTIC_DECL asio::ip::address address_towards(const asio::any_io_executor& executor,
                                               const asio::ip::address& other);

/// The addresses of this host's network interfaces that are up, without loopback ones; at most
/// `limits::node_addresses` of them.
ELASTIC_DECL std::vector<asio::ip::address> own_addresses();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/local_address.ipp>
#endif
