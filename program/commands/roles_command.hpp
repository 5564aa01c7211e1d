// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/environment.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// What `elasticrun roles` shows: [--json] [LOGDIR|FILE]. Without either, ELASTIC_ROLES counts, as
/// for a worker of the job. Of a folder with the log directories of several runs, the newest.
/// Errors: `errc::invalid_argument` for arguments that cannot be; `errc::file_access` if there is
/// no file or it cannot be read; `errc::protocol_violation` if it is none.
std::string shown_roles(const std::vector<std::string>& arguments,
                        const elastic::environment_map& environment);

}  // namespace elasticrun
