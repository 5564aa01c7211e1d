// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>

#include <exception>
#include <string>

namespace elastic {

/// What `elasticrun` exits with: 0 after success, 1 after failed workers, 93 if a new start of the
/// job would end in the same way, 128 + N if signal N stopped it.
ELASTIC_DECL int exit_code(const run_result& result);

/// What `elasticrun` exits with if there is no result: 2 for what the user can put right before
/// the next try (a value, a file, a port), 126 and 127 as shells do for a program that cannot be
/// executed or is not there, else 1.
ELASTIC_DECL int exit_code(const std::exception& failure);

/// Whether no worker of this node failed by itself: what ended the job happened on another.
ELASTIC_DECL bool failed_elsewhere(const run_result& result);

/// What `elasticrun` says after a run that did not succeed, for stderr: the report of the failures,
/// or on which other node the job failed, and where the log files are. Empty after success.
ELASTIC_DECL std::string closing_words(const std::string& name, const run_result& result);

/// What the launcher's own error file is to say: what the root cause of a failed run said in its
/// file, with its exit code. Empty if it left none or the run did not fail.
ELASTIC_DECL std::string launcher_error_text(const run_result& result);

/// The same if the launcher itself failed.
ELASTIC_DECL std::string launcher_error_text(const std::exception& failure, wall_time now);

/// Leaves `text`, unless it is empty, in the file that TORCHELASTIC_ERROR_FILE of `environment`
/// names, if any. Where that cannot be written, the log says so.
ELASTIC_DECL void leave_error_file(const environment_map& environment, const std::string& text,
                                   const logger& log);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/job_outcome.ipp>
#endif
