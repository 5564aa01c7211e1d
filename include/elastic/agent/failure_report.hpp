// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace elastic {

/// The failure that caused the others: the earliest, by the time that the worker reported if it
/// did; of several at the same time, the first in the list. A worker that was killed by a signal
/// counts as if it had failed one second before the agent learned of it, since its peers may report
/// their lost connections first. A worker that failed only because the agent stopped it is chosen
/// only if there is no other. Null if `failures` is empty.
ELASTIC_DECL const run_result::failure* root_cause(
    const std::vector<run_result::failure>& failures);

namespace detail {

ELASTIC_DECL std::string report_failure(const run_result::failure& failure, std::size_t index);

/// "0, 2-7": ranks in ascending order.
ELASTIC_DECL std::string rank_ranges(std::vector<int> ranks);

}  // namespace detail

/// The report that the user reads at the end of a failed run, in the format of torchelastic 2.x
/// (labels, order, border), so that scripts that parse it still work. It adds the role, the
/// signal's name, out-of-memory kills, the core file, the last lines of the root cause's stderr if
/// it left no error file, and one line that lists the workers that ended only because the agent
/// stopped them. Workers that failed in the same way share one entry.
///
/// `name` is the script's file name; the failures are numbered in the order given.
/// Result: lines that begin with a blank one and end with a line end; empty if `failures` is empty.
ELASTIC_DECL std::string failure_report(const std::string& name,
                                        const std::vector<run_result::failure>& failures);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/failure_report.ipp>
#endif
