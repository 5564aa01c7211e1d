// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: the store in which the workers of a job of one node find each other.

#include <elastic/base/config.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

namespace elastic {

/// Lets the agent of a job of one node serve the store in which its workers find each other, which
/// the contract of PyTorch needs (`worker_contract::torch`).
///
/// The compiled library has it already, and so has a registry to which `add_nodes` was applied: it
/// then does nothing. A program's own backend "c10d" stays as well.
ELASTIC_DECL void add_worker_store(rendezvous_registry& registry);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/worker_store.ipp>
#endif
