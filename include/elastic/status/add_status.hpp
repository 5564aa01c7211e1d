// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

namespace elastic {

struct program_options;

/// Makes the program that runs with these options (`run_as_program`, `program_run`) show its job:
///
/// - `status`: a status_server serves it at that address, and passes commands to the agent. The
///   agent's services get a journal, a monitor as with `add_monitor`, and output tails.
/// - `trace`: a trace_file receives the records of the journal, which is added if there is none.
/// - In a job of several nodes, even without these options, the node reports to the one that shows
///   the whole job.
///
/// When the agent has ended, the server stops within `limits::status_farewell`, and then the rest
/// of the trace is written within `limits::journal_patience`.
///
/// Errors: `errc::invalid_argument` if the options are completed already. The constructor of
/// program_run then throws those of `parse_status_address`, `read_status_token` and `add_monitor`,
/// and `program_run::run` those of the constructor of status_server.
ELASTIC_DECL void add_status(program_options& options);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/add_status.ipp>
#endif
