// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/process_spec.hpp>

#include <string>

namespace elastic::detail {

/// What a relative `path` names for a process that starts in `directory`.
ELASTIC_DECL std::string seen_from(const std::string& directory, const std::string& path);

/// The kernel's strings end at a zero byte, so that an argument would lose its end unnoticed.
ELASTIC_DECL void refuse_zero_bytes(const process_spec& spec);

/// The path to execute, found as `execvp` does it: a name without a slash is looked for in PATH.
///
/// Done before the start, so that an error can say what was looked for and the child needs no
/// memory of its own. Errors: `errc::program_not_found`, `errc::program_not_executable`.
ELASTIC_DECL std::string find_program(const process_spec& spec);

/// The same. If a file system that has to be asked may hang, it is asked on a thread, for the
/// directory and the program itself, too, so that the kernel then knows them when it starts it.
/// Errors: as `find_program`. Cancellation: all types, at once.
ELASTIC_DECL task<std::string> find_program_on_thread(process_spec spec);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/program_path.ipp>
#endif
