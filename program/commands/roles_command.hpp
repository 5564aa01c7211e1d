// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/environment.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// The output of `elasticrun roles [--json] [LOGDIR|FILE]`. Without a path, ELASTIC_ROLES names the
/// file, as for a worker of the job. In a folder with the log directories of several runs, the
/// newest counts.
/// Errors: `errc::invalid_argument` for invalid arguments; `errc::file_access` if there is no file
/// or it cannot be read; `errc::protocol_violation` if its content is invalid.
std::string shown_roles(const std::vector<std::string>& arguments,
                        const elastic::environment_map& environment);

}  // namespace elasticrun
