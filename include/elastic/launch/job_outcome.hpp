// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs that run jobs, not for programs that embed one.

#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>

#include <exception>
#include <string>

namespace elastic {

/// The exit code of `elasticrun`: 0 after success, 1 after failed workers, 93 if another run would
/// fail in the same way, 128 + N if signal N stopped it.
ELASTIC_DECL int exit_code(const run_result& result);

/// The exit code of `elasticrun` if there is no result: 2 for an error that the user can correct (a
/// value, a file, a port); 126 or 127, as in shells, for a program that cannot be executed or does
/// not exist; otherwise 1.
ELASTIC_DECL int exit_code(const std::exception& failure);

/// Whether no worker of this node failed by itself, because another node caused the failure of the
/// job.
ELASTIC_DECL bool has_failed_elsewhere(const run_result& result);

/// The text that `elasticrun` writes to stderr after an unsuccessful run: the report of the
/// failures, or the name of the other node on which the job failed, and the place of the log files.
/// Empty after success.
ELASTIC_DECL std::string closing_words(const std::string& name, const run_result& result);

/// The content of the launcher's own error file: the error file of the root cause of a failed run,
/// with its exit code. Empty if there is none, or if the run did not fail.
ELASTIC_DECL std::string launcher_error_text(const run_result& result);

/// The same if the launcher itself failed.
ELASTIC_DECL std::string launcher_error_text(const std::exception& failure, wall_time now);

/// Writes `text`, unless it is empty, to the file that TORCHELASTIC_ERROR_FILE of `environment`
/// names, if any. If that fails, the log says so.
ELASTIC_DECL void leave_error_file(const environment_map& environment, const std::string& text,
                                   const logger& log);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/job_outcome.ipp>
#endif
