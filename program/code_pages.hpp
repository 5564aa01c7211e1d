// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elasticrun {

/// Gives back the memory into which the code and constants of this process were read. What runs
/// next is mapped again from the page cache, at about a microsecond for each 64 KiB; nothing is
/// read from the disk unless memory was short meanwhile.
///
/// Does nothing if a debugger is attached: its breakpoints are in these pages. (So are the probes
/// of tracers such as perf, which must be set anew.)
///
/// Thread-safety: any thread, others may run meanwhile.
void release_code_pages();

}  // namespace elasticrun
