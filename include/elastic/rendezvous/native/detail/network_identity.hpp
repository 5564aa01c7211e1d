// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>

namespace elastic::detail {

/// Which network of which host since its boot the ports of this process belong to: of two processes
/// that say the same only one has a port. Addresses do not show it, since they move from host to
/// host and are translated on the way.
/// Result: empty if the system does not tell. Thread-safety: any thread.
ELASTIC_DECL std::string network_identity();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/detail/impl/network_identity.ipp>
#endif
