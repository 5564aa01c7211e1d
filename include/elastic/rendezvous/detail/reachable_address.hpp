// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// A numeric address by which other hosts probably reach this one: the source address on the route
/// to one of `hosts`, otherwise that of the default route, otherwise what its host name resolves
/// to. Loopback only if there is no other address, because every host has it, or if `chosen`, the
/// address that the user chose, is loopback: then the job stays on this host.
ELASTIC_DECL task<std::string> reachable_address(std::string chosen,
                                                 std::vector<std::string> hosts);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/reachable_address.ipp>
#endif
