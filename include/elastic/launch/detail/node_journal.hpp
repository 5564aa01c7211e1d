// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

namespace elastic {

struct agent_services;
struct rendezvous_parameters;

namespace detail {

/// Adds a journal whose records use the rendezvous's name of the node, unless the services have a
/// journal.
ELASTIC_DECL void add_journal(agent_services& services, const rendezvous_parameters& meeting);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/node_journal.ipp>
#endif
