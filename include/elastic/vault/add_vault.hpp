// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/vault/vault_terms.hpp>

namespace elastic {

struct agent_services;

/// Gives the agent that uses these services a vault: memory of the agent into which its workers
/// commit their state, so that it survives the workers. docs/vault.md describes it.
///
/// Workers find it by the variable ELASTIC_VAULT. After a restart, the agent offers them the newest
/// generation that every rank has committed and that the nodes still have. Its memory is freed when
/// the run of the agent ends. Either all nodes of a job have a vault or none has: otherwise the run
/// ends with `errc::rendezvous_timeout`. Replicas, which form no world, have no vault.
/// Errors: those of `validate` and `vault_limit`.
ELASTIC_DECL void add_vault(agent_services& services, vault_terms terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/impl/add_vault.ipp>
#endif
