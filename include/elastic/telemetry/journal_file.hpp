// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace elastic {

namespace detail {
class record_writer;
}  // namespace detail

/// The name of a journal in the log directory of a run.
inline constexpr std::string_view journal_file_name = "journal.jsonl";

/// The journal as lines of JSON, appended to a file.
///
/// A file that cannot be written, for example because the disk is full, is logged once; each
/// further record is attempted again, and the numbers show which are missing. On a file system that
/// may hang, a thread writes, which exists only as long as there is something to write; if more
/// than `limits::journal_pending_lines` lines are pending, records are lost.
/// Thread-safety: one thread at a time.
class ELASTIC_EXPORT journal_file final : public journal_sink {
 public:
  /// Where a journal is written, and when it is rotated.
  struct options {
    /// Its directory must exist. An existing file is continued.
    std::string path = {};
    /// The size at which a file is rotated.
    std::uint64_t max_size = limits::journal_file_bytes;
    /// How many files are kept: this one and "<path>.1" (the newest of the others) and so on.
    int max_files = limits::journal_files;
    logger log = {};
  };

  /// Opens nothing yet.
  ELASTIC_DECL explicit journal_file(options settings);
  ELASTIC_DECL ~journal_file() override;

  ELASTIC_DECL void take(const journal_record& record) override;

  /// Waits until everything is written, at most `limits::journal_patience`.
  ///
  /// Errors: none; losses are logged.
  /// Cancellation: all types; pending records may still be written later.
  ELASTIC_DECL task<void> finish();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  logger log_;
  std::shared_ptr<detail::record_writer> writer_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/impl/journal_file.ipp>
#endif
