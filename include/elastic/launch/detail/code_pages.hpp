// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

namespace elastic::detail {

/// Gives back the memory into which the code and constants of this process were read. What runs
/// next is mapped again from the page cache, at about a microsecond for each 64 KiB; nothing is
/// read from the disk unless memory was short meanwhile.
///
/// Does nothing if a debugger is attached: its breakpoints are in these pages. (So are the probes
/// of tracers such as perf, which must be set anew.)
///
/// Thread-safety: any thread, others may run meanwhile.
ELASTIC_DECL void release_code_pages();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/code_pages.ipp>
#endif
