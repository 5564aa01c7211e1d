// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/error_file.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

/// What `elasticrun` exits with: 0 after success, 1 after failed workers, 128 + N where signal N
/// stopped it.
inline int exit_code(const run_result& result) {
  if (result.state == worker_state::succeeded) return 0;
  if (result.state == worker_state::stopped && result.stop_signal) {
    return 128 + *result.stop_signal;
  }
  return 1;
}

/// What `elasticrun` exits with where there is no result: 2 for what the user can put right before
/// the next try (a value, a file, a port), 126 and 127 as shells do for a program that cannot be
/// executed or is not there, else 1.
inline int exit_code(const std::exception& failure) {
  const auto* known = dynamic_cast<const std::system_error*>(&failure);
  if (known == nullptr || known->code().category() != error_category()) return 1;
  switch (static_cast<errc>(known->code().value())) {
    case errc::invalid_argument:
    case errc::file_access:
    case errc::address_in_use: return 2;
    case errc::program_not_executable: return 126;
    case errc::program_not_found: return 127;
    default: return 1;
  }
}

/// Whether no worker of this node failed by itself: what ended the job happened on another.
inline bool failed_elsewhere(const run_result& result) {
  return result.state == worker_state::failed &&
         std::all_of(result.failures.begin(), result.failures.end(),
                     [](const worker_failure& failure) { return failure.stopped_by_agent; });
}

/// What `elasticrun` says after a run that did not succeed, for stderr: the report of the failures,
/// or on which other node the job failed, and where the log files are. Empty after success.
inline std::string closing_words(const std::string& name, const run_result& result) {
  if (result.state == worker_state::succeeded) return {};
  std::string words;
  if (result.left_as_bad) {
    words = fmt::format("\n{} FAILED on this node, which has left the job: {}\n", name,
                        result.reason);
  } else if (failed_elsewhere(result)) {
    words = fmt::format("\n{} FAILED, not on this node: {}\n", name, result.reason);
  } else if (result.state == worker_state::failed) {
    words = failure_report(name, result.failures);
  }
  if (!result.log_directory.empty()) words += fmt::format("Logs: {}\n", result.log_directory);
  return words;
}

/// What the launcher's own error file is to say: what the root cause of a failed run said in its
/// file, with its exit code. Empty where it left none or the run did not fail.
inline std::string launcher_error_text(const run_result& result) {
  if (result.state != worker_state::failed) return {};
  const worker_failure* cause = root_cause(result.failures);
  if (cause == nullptr || !cause->error) return {};
  return launcher_error_file_text(*cause->error, cause->status.as_python());
}

/// The same where the launcher itself failed.
inline std::string launcher_error_text(const std::exception& failure, wall_time now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch();
  return error_file_text(failure.what(), "", seconds.count());
}

/// Leaves `text`, unless it is empty, in the file that TORCHELASTIC_ERROR_FILE of `environment`
/// names, if any. Where that cannot be written, the log says so.
inline void leave_error_file(const environment_map& environment, const std::string& text,
                             const logger& log) {
  const std::string path = find_variable(environment, "TORCHELASTIC_ERROR_FILE").value_or("");
  if (path.empty() || text.empty()) return;
  try {
    write_error_file(path, text);
  } catch (const error& failure) {
    log.error("{}", failure.what());
  }
}

}  // namespace elastic
