// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>

namespace elastic::detail {

/// Identifies the network to which the ports of this process belong, including the host and its
/// boot: of two processes with the same identity, only one can have a given port. Addresses cannot
/// identify it, because they move between hosts and are translated on the way.
/// Result: empty if the system does not show it. Thread-safety: any thread.
ELASTIC_DECL std::string network_identity();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/impl/network_identity.ipp>
#endif
