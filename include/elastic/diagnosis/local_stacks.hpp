// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>

#include <string>
#include <vector>

namespace elastic {

/// A text for users with the locations of workers on this host, as far as the kernel knows them. It
/// needs no agent.
/// @param workers  processes of this user; must exist until the task is awaited
/// Errors: none. Cancellation: all types.
ELASTIC_DECL task<std::string> local_stacks(
    named<std::vector<agent_part::attempt_worker>> workers);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/impl/local_stacks.ipp>
#endif
