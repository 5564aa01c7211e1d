// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/journal_record.hpp>

namespace elastic {

/// Where the records of a journal go: implement it to follow what a job does.
///
/// Thread-safety: called by one thread at a time, that on which the journal is told something, and
/// on which it waits: be quick, and do not call the journal.
class journal_sink {
 public:
  virtual ~journal_sink() = default;

  /// What it throws is logged and ends nothing.
  virtual void take(const journal_record& record) = 0;
};

}  // namespace elastic
