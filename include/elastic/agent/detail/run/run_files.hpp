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

/// The files of a run: the log directory with the workers' files and the report, and the journal's
/// file.
///
/// A file system that does not answer delays the end by at most `limits::log_directory_patience`.
/// Thread-safety: the agent's strand.
class run_files {
 public:
  /// All arguments must outlive this object.
  ELASTIC_DECL run_files(job_journal& journal, time_source& time, const logger& log);

  run_files(const run_files&) = delete;
  run_files& operator=(const run_files&) = delete;

  /// The layout of the workers' files. Empty until `open` has ended.
  log_layout& layout() { return layout_; }

  /// Creates the directory, and adds the journal's file.
  ///
  /// @param log_dir  the parent of the directory; "/dev/null": no directory
  /// @param log_name  the name of the directory; empty: a unique one
  /// @param journal_path  the file of the journal; empty: in the log directory, if there is one;
  ///     "/dev/null": none
  /// Errors: those of `log_layout`.
  ELASTIC_DECL task<void> open(std::string run_id, std::string log_dir, std::string log_name,
                               std::string journal_path);

  /// Keeps or removes the directory as documented, writes the report if the job failed, and sets
  /// the directory in the result. Errors: none; the log names files that cannot be written.
  ///
  /// @param result  null: the run ended with an exception
  ELASTIC_DECL task<void> leave(run_result* result);

 private:
  job_journal& journal_;
  time_source& time_;
  const logger& log_;
  log_layout layout_;
  /// Null without a log directory, and until that exists.
  std::shared_ptr<journal_file> journal_file_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/run_files.ipp>
#endif
