// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The options for when workers fail or the job is stopped.

#include <elastic/base/config.hpp>
#include <elastic/launch/detail/option_table.hpp>
#include <elastic/launch/launch_config.hpp>

namespace elastic::detail {

ELASTIC_DECL void read_restarts(const option_values& values, launch_config& config);

ELASTIC_DECL void read_signals(const option_values& values, launch_config& config);

ELASTIC_DECL void read_times(const option_values& values, launch_config& config);

ELASTIC_DECL void read_guard(const option_values& values, launch_config& config);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/failure_options.ipp>
#endif
