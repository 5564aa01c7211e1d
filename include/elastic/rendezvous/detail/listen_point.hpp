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

/// Where this host opens a port.
struct listen_point {
  /// An address of this host, or "localhost"; empty: every address.
  std::string address;
  /// Further addresses; those that this host does not have are skipped.
  std::vector<asio::ip::address> besides;
};

/// Chooses where to open a port that others know by `host`, so that no other network reaches it: at
/// the addresses of this host to which `host` resolves, and at loopback. The result is every
/// address if `host` resolves to none of this host's addresses (a NAT, a virtual address), or to
/// loopback, as a host's own name often does: others then resolve the name to another address.
/// @param addresses  the addresses to which `host` resolves here
/// @param is_own     whether this host has an address
ELASTIC_DECL listen_point
choose_listen_point(const std::string& host, const std::vector<asio::ip::address>& addresses,
                    const std::function<bool(const asio::ip::address&)>& is_own);

/// The same for this host. Waits for a resolver if `host` is a name.
///
/// Cancellation: all types.
ELASTIC_DECL task<listen_point> find_listen_point(std::string host);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/listen_point.ipp>
#endif
