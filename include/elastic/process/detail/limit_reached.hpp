// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>

namespace elastic::detail {

/// Names the limit that made a system call fail, and its value: the end of an error's text.
///
/// @param number  the call's `errno`. EMFILE: the open files of this process. EAGAIN of a call that
///     makes a process: the first full cgroup above this process, else one that has refused a
///     process before, else the processes of its user.
/// @param root  what stands before /proc and /sys
/// Result: begins with "; ". Empty for another error, or if no limit is known. A few small files
/// are read. Thread-safety: any thread.
ELASTIC_DECL std::string limit_reached(int number, const std::string& root = "");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/limit_reached.ipp>
#endif
