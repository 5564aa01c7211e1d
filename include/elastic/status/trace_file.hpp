// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <memory>
#include <string>

namespace elastic {

namespace detail {
class record_writer;
class trace_events;
}  // namespace detail

/// A journal as a Chrome trace for Perfetto: a JSON array without its closing bracket, so that it
/// is readable however the agent ends.
///
/// An existing file is overwritten. A file that cannot be written or hangs is handled as by
/// `journal_file`.
/// Thread-safety: one thread at a time.
class ELASTIC_EXPORT trace_file final : public journal_sink {
 public:
  /// Opens nothing yet.
  ELASTIC_DECL explicit trace_file(std::string path, logger log = {});
  ELASTIC_DECL ~trace_file() override;

  ELASTIC_DECL void take(const journal_record& record) override;

  /// Waits until everything is written, at most `limits::journal_patience`.
  ///
  /// Errors: none; losses are logged.
  /// Cancellation: all types; pending records may still be written later.
  ELASTIC_DECL task<void> finish();

 private:
  logger log_;
  std::shared_ptr<detail::record_writer> writer_;
  std::unique_ptr<detail::trace_events> events_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/trace_file.ipp>
#endif
