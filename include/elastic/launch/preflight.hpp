// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/config.hpp>
#include <elastic/launch/early_exit.hpp>
#include <elastic/launch/launch_config.hpp>

#include <optional>

namespace elastic {

/// Looks whether the files that a configuration names can be used, so that a mistake is reported
/// before nodes meet and workers start: the script and the log directory. (The program itself is
/// looked for when it is started, see `process_launcher`.)
///
/// Result: empty if all is well; else what to say, with exit code 2.
ELASTIC_DECL std::optional<early_exit> check_files(const launch_config& config);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/preflight.ipp>
#endif
