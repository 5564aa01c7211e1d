// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <atomic>

namespace elastic {

struct agent_services;
struct launch_config;
struct worker_spec;

namespace detail {

/// Completes the configuration of workers that run a function of this program. Throws, before any
/// process starts, if they could not run it.
using function_preparer = void (*)(const launch_config& config, worker_spec& workers,
                                   agent_services& services);

/// The preparer of the opt-in module `functions`, which sets it before main; null if the program
/// does not include the module.
inline ELASTIC_EXPORT std::atomic<function_preparer> prepare_own_function = nullptr;

}  // namespace detail

}  // namespace elastic
