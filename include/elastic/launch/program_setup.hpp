// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs that run jobs, not for programs that embed one.

#include <elastic/base/config.hpp>

#include <cstdint>

namespace elastic {

/// Makes a program that runs jobs independent of the signal handling and the descriptors that it
/// inherited. Call it first in `main`.
///
/// SIGPIPE and SIGXFSZ are ignored, because neither a closed terminal nor a log file that has
/// reached the limit on the size of files (`ulimit -f`) must end the job. SIGCHLD gets its default
/// handling, because ignoring it would hide how workers end. A closed standard stream becomes
/// /dev/null, so that no other descriptor of the job takes its number. glibc is told to map each
/// block of 64 KiB or more separately for the whole life of the program: by default, the first such
/// block that is freed moves later ones to the heap, which then keeps twice the memory that clients
/// of the store may hold.
ELASTIC_DECL void set_up_program();

/// Raises this process's limit of open files to the hard limit, at most `limits::open_files`: a
/// host that serves the store of a large job has a connection to each worker. Child processes
/// inherit the new limit, unless `agent_services::process_options::open_files` is set to the former
/// one, which programs that use `select` need.
///
/// Result: the former soft limit.
ELASTIC_DECL std::uint64_t raise_open_files();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/program_setup.ipp>
#endif
