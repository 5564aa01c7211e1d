// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/launch/detail/function_preparer.hpp>

namespace elastic {

struct agent_services;
struct launch_config;
struct worker_spec;

namespace detail {

/// The function_preparer of programs that include the module `functions`.
ELASTIC_DECL void run_own_function(const launch_config& config, worker_spec& workers,
                                   agent_services& services);

/// Registers the preparer in every program that includes the module.
inline const bool has_own_functions = (prepare_own_function = run_own_function, true);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/functions/detail/own_functions.ipp>
#endif
