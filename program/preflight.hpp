// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/early_exit.hpp>
#include <elastic/launch/launch_config.hpp>

#include <optional>

namespace elasticrun {

/// Looks whether the files that a configuration names can be used, so that a mistake is reported
/// before nodes meet and workers start: the script and the log directory. (The program itself is
/// looked for when it is started, see `process_launcher`.)
///
/// Result: empty if all is well; else what to say, with exit code 2.
std::optional<elastic::early_exit> check_files(const elastic::launch_config& config);

}  // namespace elasticrun
