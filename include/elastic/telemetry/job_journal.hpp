// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace elastic {

/// The journal of a node's agent: gives each event its number and time, keeps the last ones, and
/// passes all of them to its sinks.
///
/// Thread-safety: any thread.
class job_journal {
 public:
  /// Options of a job_journal.
  struct options {
    /// The node of its records: its name, or its host's.
    std::string node = {};
    /// Null: `system_time`.
    std::shared_ptr<time_source> time = {};
    /// How many records are kept for sinks that are added later, at least 1.
    std::size_t most_records = limits::journal_records;
    logger log = {};
  };

  ELASTIC_DECL explicit job_journal(options settings);

  job_journal(const job_journal&) = delete;
  job_journal& operator=(const job_journal&) = delete;

  /// Records an event. Errors: none; exceptions of a sink are logged.
  ELASTIC_DECL void record(job_event event);

  /// Adds a sink. It first receives the kept records, oldest first; no record is lost in between.
  /// Errors: `errc::invalid_argument` if it is null.
  ELASTIC_DECL void add(std::shared_ptr<journal_sink> sink);

  /// When this returns, the sink receives no more records.
  ELASTIC_DECL void remove(const std::shared_ptr<journal_sink>& sink);

  /// The `node` of its records.
  const std::string& node() const { return options_.node; }

  /// The `epoch` of its records.
  std::int64_t epoch() const { return epoch_; }

  /// The kept records after a number, oldest first; the number of the first one shows whether there
  /// is a gap. 0: all kept records.
  ELASTIC_DECL std::vector<journal_record> after(std::int64_t sequence) const;

 private:
  ELASTIC_DECL void tell(journal_sink& sink, const journal_record& record) const;

  options options_;
  std::int64_t epoch_;
  mutable std::mutex mutex_;
  std::int64_t next_ = 1;
  std::deque<journal_record> records_;
  std::vector<std::shared_ptr<journal_sink>> sinks_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/impl/job_journal.ipp>
#endif
