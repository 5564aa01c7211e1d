// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/process_spec.hpp>

#include <string>

namespace elastic::detail {

/// The file that a relative `path` names for a process that starts in `directory`.
ELASTIC_DECL std::string seen_from(const std::string& directory, const std::string& path);

/// Refuses values that the kernel would not use unchanged: a text with a zero byte, which it would
/// silently cut off there, and a signal that does not exist. Errors: `errc::invalid_argument`.
ELASTIC_DECL void refuse_unusable(const process_spec& spec);

/// The path to execute, found as `execvp` does it: a name without a slash is looked up in PATH.
///
/// The parent does this before the start, so that an error can name the searched folders and the
/// child need not allocate memory. Errors: `errc::program_not_found`,
/// `errc::program_not_executable`.
ELASTIC_DECL std::string find_program(const process_spec& spec);

/// The same. If a file system on the way may hang, the lookup runs on a thread. It also touches the
/// directory and the program itself, so that the kernel has them cached for the start.
/// @param spec  must exist until the task has ended
/// Errors: as `find_program`. Cancellation: all types, at once.
ELASTIC_DECL task<std::string> find_program_on_thread(const process_spec& spec);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/program_path.ipp>
#endif
