// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// A network interface of this host.
struct local_interface {
  /// "eth0".
  std::string name;
  bool is_up = false;
  /// Its addresses, the primary one first; those of IPv6 that are valid on one link are left out.
  std::vector<asio::ip::address> addresses = {};
};

/// The network interfaces of this host, in the kernel's order. Errors: `errc::file_access` if the
/// kernel does not list them.
ELASTIC_DECL std::vector<local_interface> local_interfaces();

/// The address that a text names: that of an interface such as "ib0" (IPv4 if it has one), or that
/// of this host in a network such as "10.1.0.0/16". Any other text, such as an address or the name
/// of a host, is the result itself.
///
/// @param interfaces  those of this host
/// Errors: `errc::invalid_argument`, with what this host has: an interface that is down or has no
/// address, a text with a '/' that is not a network, and a network in which this host has no
/// address or several.
ELASTIC_DECL std::string local_address_named(const std::string& text,
                                             const std::vector<local_interface>& interfaces);

/// The same for this host. An empty text, an address, and a name that belongs to no interface cost
/// one system call at most.
ELASTIC_DECL std::string local_address_named(const std::string& text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/local_interface.ipp>
#endif
