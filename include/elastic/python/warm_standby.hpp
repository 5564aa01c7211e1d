// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/python/standby_terms.hpp>

namespace elastic {

struct agent_services;

/// Has the agent that is made with these services keep standbys for its workers, by a
/// `standby_set` of its own. The workers start cold if they are no Python programs: the agent's log
/// says why.
///
/// In a job that may run with fewer nodes than can take part, this node takes part in its first
/// round once its standbys are ready, at most 30 s later: the others go on meanwhile. Workers that
/// are well go on for at most 10 s until their standbys are ready when a node waits to join, and
/// for 2 s when a node is lost.
/// Errors: those of `validate`; `errc::invalid_argument` if the services have an extension.
ELASTIC_DECL void add_warm_standbys(agent_services& services, warm_standby terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/impl/warm_standby.ipp>
#endif
