// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

namespace elastic {

class rendezvous_registry;

/// Lets nodes of torchrun take part in rounds of the backend "c10d", as the registry of a compiled
/// library does.
ELASTIC_DECL void add_torch_rendezvous(rendezvous_registry& registry);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/impl/torch_rendezvous.ipp>
#endif
