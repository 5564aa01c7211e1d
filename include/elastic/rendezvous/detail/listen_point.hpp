// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>
#include <elastic/base/task.hpp>

#include <functional>
#include <string>
#include <vector>

namespace elastic::detail {

/// Where a port of this host is opened.
struct listen_point {
  /// An address of this host, or "localhost"; empty: every address.
  std::string address;
  /// Further ones, as far as this host has them.
  std::vector<asio::ip::address> besides;
};

/// Where a port is opened that others know by `host`, so that no other network reaches it: at the
/// addresses of this host for which that stands, and at loopback. Every address, if it stands for
/// none of them (a NAT, a virtual address), or for loopback on this host, as a host's own
/// name often does: others know the name by another address then.
/// @param known   the addresses for which `host` stands here
/// @param is_own  whether this host has an address
ELASTIC_DECL listen_point
choose_listen_point(const std::string& host, const std::vector<asio::ip::address>& addresses,
                    const std::function<bool(const asio::ip::address&)>& is_own);

/// The same for this host. Waits for a resolver if `host` is a name.
///
/// Cancellation: all types.
ELASTIC_DECL task<listen_point> find_listen_point(std::string host);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/impl/listen_point.ipp>
#endif
