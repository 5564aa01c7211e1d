// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>

#include <string>

namespace elastic {

/// The report of an unsuccessful run, for programs: one JSON object, UTF-8, with a line end.
///
///     {"state": "FAILED", "reason": "...", "restarts": 0, "max_restarts": 0,
///      "root_cause": 1,                    // the rank; none if no worker failed
///      "failures": [{"rank": 1, "local_rank": 1, "group_rank": 0, "role": "default",
///                    "host": "...", "pid": 42, "time": 1795170764.9,
///                    "end": {"text": "SIGSEGV", "signal": 11, ...},
///                    "stopped_by_agent": false, "out_of_memory": false, ...}]}
ELASTIC_DECL std::string failure_report_json(const run_result& result);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/failure_report_json.ipp>
#endif
