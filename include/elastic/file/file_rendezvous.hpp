// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <memory>

namespace elastic {

/// Makes the backend "file": a directory that the nodes share names the agent at which they meet
/// (`make_registered_rendezvous`). The endpoint is the directory, which must exist; each job
/// creates its own directory in it.
///
/// Errors: `errc::invalid_argument` for an empty run id, an empty endpoint, or a setting out of
/// bounds. The first round reports errors of the directory.
ELASTIC_DECL std::shared_ptr<rendezvous_handler> make_file_rendezvous(
    rendezvous_parameters parameters);

/// Adds the backend "file", which the registry of a compiled library has.
ELASTIC_DECL void add_file_rendezvous(rendezvous_registry& registry);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/file/impl/file_rendezvous.ipp>
#endif
