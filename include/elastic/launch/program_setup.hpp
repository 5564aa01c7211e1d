// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/config.hpp>

namespace elastic {

/// What a program that runs jobs does first in `main`: makes it independent of how its own parent
/// left signals and descriptors.
///
/// SIGPIPE is ignored: a terminal that is gone must not end the job. SIGCHLD is handled as by
/// default: a parent that ignores it would hide how workers end. A standard stream that is closed
/// becomes /dev/null, so that no descriptor of the job takes its number.
ELASTIC_DECL void set_up_program();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/program_setup.ipp>
#endif
