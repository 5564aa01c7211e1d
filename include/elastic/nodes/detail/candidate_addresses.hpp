// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>
#include <elastic/net/endpoint.hpp>

#include <functional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The addresses of the endpoints of a list, as far as this host knows them.
struct candidate_addresses {
  std::vector<endpoint> list;
  /// The addresses of each endpoint; empty: unknown here.
  std::vector<std::vector<asio::ip::address>> known;
};

/// The reason why a list cannot be used, in one sentence: two of its endpoints are the same server.
/// Empty: it can be used.
ELASTIC_DECL std::string objection_to(const candidate_addresses& addresses);

/// The reason why this node cannot use `local_addr`, in one sentence that begins with that address:
/// it is an endpoint of the list, but not an address of this host. Empty: it can be used.
/// @param served  the endpoint that the settings assign to this agent; -1: none
/// @param is_own  whether this host has an address
ELASTIC_DECL std::string objection_to_local_addr(
    const candidate_addresses& addresses, const std::string& local_addr, int served,
    const std::function<bool(const asio::ip::address&)>& is_own);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/candidate_addresses.ipp>
#endif
