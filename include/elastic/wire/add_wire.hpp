// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/wire/wire_terms.hpp>

namespace elastic {

struct agent_services;

/// Makes the agent that uses these services set up JAX, MPI or TensorFlow in its workers, so that
/// they find each other. docs/wire.md has the variables. Call it after `add_warm_standbys` and
/// `add_diagnosis`.
///
/// In each round, the nodes exchange addresses and ports through the round's store. If a node does
/// not take part, or has different wire-ups, the run of the agent ends with an error. Variables of
/// an outer launcher that would mislead the workers are removed from their environment, and the
/// log names them.
/// Errors: those of `validate`.
ELASTIC_DECL void add_wire(agent_services& services, wire_terms terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/impl/add_wire.ipp>
#endif
