// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/python/standby_terms.hpp>

namespace elastic {

struct agent_services;

/// Makes the agent that uses these services keep standbys for its workers, in a `standby_set`.
/// Workers that are not Python programs start cold, and the agent's log says why.
///
/// In a job that may run with fewer nodes than can take part, this node joins its first round when
/// its standbys are ready, at most 30 s later; the others continue meanwhile. Healthy workers
/// continue until their standbys are ready, for at most 10 s when a node waits to join, and 2 s
/// when a node is lost.
/// Errors: those of `validate`; `errc::invalid_argument` if the services have standbys already.
ELASTIC_DECL void add_warm_standbys(agent_services& services, warm_standby terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/impl/warm_standby.ipp>
#endif
