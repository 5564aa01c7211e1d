// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elasticrun {

/// Returns the memory that holds the code and constants of this process to the system. Code that
/// runs later is mapped again from the page cache, at about a microsecond for each 64 KiB; the
/// kernel reads it from the disk only if memory was short meanwhile.
///
/// Does nothing if a debugger is attached, since these pages hold its breakpoints. (They also hold
/// the probes of tracers such as perf, which must be set again.)
///
/// Thread-safety: any thread; other threads may run meanwhile.
void release_code_pages();

}  // namespace elasticrun
