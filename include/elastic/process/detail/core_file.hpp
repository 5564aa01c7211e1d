// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <ctime>
#include <string>

namespace elastic::detail {

/// Where the core of a process that dumped one is: the path of the file, or how to come by it.
/// Empty if it was not found: the process had changed its directory, or another machine has it.
///
/// @param directory  the working directory in which it was started; empty: this process's
/// @param since      when it was started, in seconds since 1970
/// @param root       what stands before /proc
/// Source: core(5).
ELASTIC_DECL std::string find_core(pid_t pid, const std::string& directory, std::time_t since,
                                   const std::string& root = "");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/core_file.ipp>
#endif
