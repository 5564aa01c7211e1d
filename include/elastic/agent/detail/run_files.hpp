// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_file.hpp>

#include <memory>
#include <string>

namespace elastic::detail {

/// What a run leaves on disk: the log directory with the workers' files and the report, and the
/// journal's file.
///
/// A file system that does not answer holds up the end no longer than its patience.
/// Thread-safety: the agent's strand.
class run_files {
 public:
  /// All of them must outlive it.
  ELASTIC_DECL run_files(job_journal& journal, time_source& time, const logger& log);

  run_files(const run_files&) = delete;
  run_files& operator=(const run_files&) = delete;

  /// Of the workers' files. Empty until `open` has ended.
  log_layout& layout() { return layout_; }

  /// Makes the directory, and adds the journal's file.
  ///
  /// @param log_dir  below which the directory is made; "/dev/null": none
  /// @param log_name  of the directory; empty: one that nobody else has
  /// @param journal_path  empty: in the log directory, if there is one; "/dev/null": none
  /// Errors: those of `log_layout`.
  ELASTIC_DECL task<void> open(std::string run_id, std::string log_dir, std::string log_name,
                               std::string journal_path);

  /// Leaves the directory as promised, with the report if the job failed, and notes in the result
  /// where it is. Errors: none; what cannot be written is logged.
  ///
  /// @param result  null: the job broke down
  ELASTIC_DECL task<void> leave(run_result* result);

 private:
  job_journal& journal_;
  time_source& time_;
  const logger& log_;
  log_layout layout_;
  /// Null until the log directory is there, or without one.
  std::shared_ptr<journal_file> journal_file_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/run_files.ipp>
#endif
