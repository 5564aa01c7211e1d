// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>

namespace elastic::detail {

/// Names the limit that made a system call fail, and its value: the end of an error's text.
///
/// @param number  the call's `errno`. EMFILE: the open files of this process. EAGAIN from a call
///     that creates a process: the first full cgroup above this process, else one that has refused
///     a process before, else the user's process limit.
/// @param root  a prefix for /proc and /sys
/// Result: begins with "; ". Empty for another error, or if no limit is known. Reads a few small
/// files. Thread-safety: any thread.
ELASTIC_DECL std::string limit_reached(int number, const std::string& root = "");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/limit_reached.ipp>
#endif
