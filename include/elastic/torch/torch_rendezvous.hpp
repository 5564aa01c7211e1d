// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

namespace elastic {

/// Makes the backend "c10d" for jobs in which nodes of torchrun may take part.
///
/// With `--rdzv-conf dialect=1.13`, `2.0` or `2.6`, nodes use torchrun's protocol, in the dialect
/// of that release of PyTorch. Without it, or with `auto`, nodes use elasticrun's own protocol,
/// unless the store is served by torchrun, or by a node of elasticrun with a `dialect`; then the
/// dialect is that of the state, or follows from the store's generation if there is no state. Jobs
/// of one node, and jobs with several endpoints, always use elasticrun's own protocol.
///
/// Errors: `errc::invalid_argument` for an empty run id, an invalid endpoint, a setting out of
/// bounds, an unknown `dialect`, or a `dialect` together with a secret.
ELASTIC_DECL rendezvous_factory make_torch_rendezvous(rendezvous_parameters parameters);

/// Adds this backend to a registry. In a compiled library, registries already have it.
ELASTIC_DECL void add_torch_rendezvous(rendezvous_registry& registry);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/impl/torch_rendezvous.ipp>
#endif
