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
/// A file that cannot be written, as on a full disk, is said once in the log; each record tries
/// anew, and one that is missing shows by its number. On a file system that may hang a thread
/// writes, which is there only as long as something is to be written; what it has not written after
/// `limits::journal_pending_lines` more is lost.
/// Thread-safety: one thread at a time.
class journal_file final : public journal_sink {
 public:
  /// Where a journal is written, and when it is cut.
  struct options {
    /// Its directory must exist. A file that is there is written on.
    std::string path;
    /// A file that would become larger is put aside and a new one begun.
    std::uint64_t max_size = limits::journal_file_bytes;
    /// How many files are kept: this one and "<path>.1" (the newest of the others) and so on.
    int max_files = limits::journal_files;
    logger log = {};
  };

  /// Opens nothing yet.
  ELASTIC_DECL explicit journal_file(options settings);
  ELASTIC_DECL ~journal_file() override;

  ELASTIC_DECL void take(const journal_record& record) override;

  /// Waits until all is written, at most `limits::journal_patience`.
  ///
  /// Errors: none; what is lost is logged. Cancellation: all types; what is not written yet may be
  /// later.
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
