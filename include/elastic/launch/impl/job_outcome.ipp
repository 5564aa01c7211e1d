// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/job_outcome.hpp>

#include <elastic/base/printable_text.hpp>

#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/error_file.hpp>

#include <algorithm>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL int exit_code(const run_result& result) {
  if (result.state == worker_state::succeeded) return 0;
  if (result.state == worker_state::stopped && result.stop_signal) {
    return 128 + *result.stop_signal;
  }
  // NVIDIA's ft_launcher uses the same number for "do not requeue".
  return result.is_hopeless ? 93 : 1;
}

ELASTIC_DECL int exit_code(const std::exception& failure) {
  const auto* system_failure = dynamic_cast<const std::system_error*>(&failure);
  if (system_failure == nullptr || system_failure->code().category() != error_category()) return 1;
  switch (static_cast<errc>(system_failure->code().value())) {
    case errc::invalid_argument:
    case errc::file_access:
    case errc::address_in_use: return 2;
    case errc::program_not_executable: return 126;
    case errc::program_not_found: return 127;
    default: return 1;
  }
}

ELASTIC_DECL bool has_failed_elsewhere(const run_result& result) {
  return result.state == worker_state::failed &&
         std::all_of(result.failures.begin(), result.failures.end(),
                     [](const run_result::failure& failure) { return failure.stopped_by_agent; });
}

ELASTIC_DECL std::string closing_words(const std::string& name, const run_result& result) {
  if (result.state == worker_state::succeeded) return {};
  std::string words;
  if (result.left_as_bad) {
    words =
        fmt::format("\n{} FAILED on this node, which has left the job: {}\n", name, result.reason);
  } else if (has_failed_elsewhere(result)) {
    words = fmt::format("\n{} FAILED, not on this node: {}\n", name, result.reason);
  } else if (result.state == worker_state::failed) {
    words = failure_report(name, result.failures);
  }
  if (result.starts.all() > 0) {
    words += fmt::format("Starts of workers on this node: {}\n", result.starts.text());
  }
  if (!result.replacements.empty()) {
    words += fmt::format("Replacements on this node: {}\n", result.replacements.text());
  }
  if (!result.log_directory.empty()) words += fmt::format("Logs: {}\n", result.log_directory);
  // Much of the text comes from workers and other nodes.
  return printable_text(words);
}

ELASTIC_DECL std::string launcher_error_text(const run_result& result) {
  if (result.state != worker_state::failed) return {};
  const run_result::failure* cause = root_cause(result.failures);
  if (cause == nullptr || !cause->error) return {};
  return launcher_error_file_text(*cause->error, cause->status.as_python());
}

ELASTIC_DECL std::string launcher_error_text(const std::exception& failure, wall_time now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch();
  return error_file_text(failure.what(), "", seconds.count());
}

ELASTIC_DECL void leave_error_file(const environment_map& environment, const std::string& text,
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
