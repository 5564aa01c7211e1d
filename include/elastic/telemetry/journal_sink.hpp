// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/journal_record.hpp>

namespace elastic {

/// Receives the records of a journal. Implement it to follow a job.
///
/// Thread-safety: called by one thread at a time, the one that records an event, which waits
/// meanwhile. So return quickly, and do not call the journal.
class ELASTIC_EXPORT journal_sink {
 public:
  virtual ~journal_sink() = default;

  /// Exceptions are logged and otherwise ignored.
  virtual void take(const journal_record& record) = 0;
};

}  // namespace elastic
