// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

namespace elastic {

struct agent_services;
struct launch_config;
struct worker_spec;

namespace detail {

/// Completes workers that run a function of this program, and refuses before a process is started
/// what would keep them from it.
using function_preparer = void (*)(const launch_config& config, worker_spec& workers,
                                   agent_services& services);

/// That of the opt-in module functions, which sets it before main; null: the program does not have
/// the module.
inline std::atomic<function_preparer> prepare_own_function = nullptr;

}  // namespace detail

}  // namespace elastic
