// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/wire/wire_terms.hpp>

namespace elastic {

struct agent_services;

/// Gives the workers of the agent that uses these services what JAX, MPI or TensorFlow need to find
/// each other: docs/wire.md has the variables. Call it after `add_warm_standbys` and
/// `add_diagnosis`.
///
/// The nodes of each round tell each other their addresses and ports through the round's store; if
/// a node does not, or has other wire-ups, the run of the agent ends with an error. Variables of a
/// launcher around this one that would mislead the workers are kept from them, and the log names
/// them.
/// Errors: those of `validate`.
ELASTIC_DECL void add_wire(agent_services& services, wire_terms terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/impl/add_wire.ipp>
#endif
