// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

namespace elastic {

/// Adds the backends by which several nodes meet: "c10d" at one endpoint, and "static".
///
/// The compiled library has them already; a header-only program calls this for jobs of several
/// nodes. Keeps a backend of the same name that the registry has already, which may be the
/// program's own or a more capable one of the library.
ELASTIC_DECL void add_nodes(rendezvous_registry& registry);

/// Adds the same, but "c10d" also at several endpoints, whose agents elect a leader.
ELASTIC_DECL void add_candidates(rendezvous_registry& registry);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/impl/backends.ipp>
#endif
