// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <ctime>
#include <string>

namespace elastic::detail {

/// Locates the core dump of a process: the path of the file, or how to get it. Empty if it was not
/// found: the process had changed its directory, or the file is on another machine.
///
/// @param directory  the working directory in which the process was started; empty: this process's
/// @param since      when the process was started, in seconds since 1970
/// @param root       a prefix for /proc
/// Source: core(5).
ELASTIC_DECL std::string find_core(pid_t pid, const std::string& directory, std::time_t since,
                                   const std::string& root = "");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/core_file.ipp>
#endif
