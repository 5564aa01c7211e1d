// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

namespace elastic {

struct agent_services;

namespace detail {

/// Gives the services a journal and a monitor that follows it, unless they have one.
ELASTIC_DECL void add_monitor(agent_services& services);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/monitored_services.ipp>
#endif
