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
/// `--rdzv-conf dialect=1.13`, `2.0` or `2.6` says that nodes meet as those of torchrun do, and
/// names the release of PyTorch whose agents take part. Without it, or with `auto`, nodes meet in
/// elasticrun's own way, unless the store turns out to be served by torchrun, or by a node of
/// elasticrun with a `dialect`; then the dialect is that of the state, or that of the store's
/// generation if there is no state. A job of one node, and one with several endpoints, is one of
/// elasticrun.
///
/// Errors: `errc::invalid_argument` for an empty run id, an invalid endpoint, a setting out of
/// bounds, a `dialect` that does not exist, and one together with a secret.
ELASTIC_DECL rendezvous_factory make_torch_rendezvous(rendezvous_parameters parameters);

/// Adds it to a registry, as that of a compiled library has it.
ELASTIC_DECL void add_torch_rendezvous(rendezvous_registry& registry);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/impl/torch_rendezvous.ipp>
#endif
