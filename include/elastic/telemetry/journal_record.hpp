// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace elastic {

namespace detail {
class json_fields;
}

/// A job event in a journal.
struct journal_record {
  /// Begins at 1 and grows by 1, within an epoch.
  std::int64_t sequence = 0;
  /// The agent that assigns the numbers: its start time, in microseconds since 1970. A later agent
  /// has a larger epoch.
  std::int64_t epoch = 0;
  /// The time of the event, by the clock of the node, in microseconds since 1970.
  std::int64_t time_us = 0;
  /// The node on which it happened.
  std::string node = {};
  job_event event = {};

  friend bool operator==(const journal_record&, const journal_record&) = default;
};

/// The record as a JSON object on one line, without a line end: "seq", "epoch", "time_us", "node"
/// and "kind", then the fields that the event has, under their names. Texts are truncated after
/// `limits::journal_text_bytes`, pids after `limits::journal_pids`.
ELASTIC_DECL std::string to_json_line(const journal_record& record);

/// Parses such a line. Ignores unknown fields.
/// Errors: `errc::protocol_violation`, one sentence that says what is wrong with the line.
ELASTIC_DECL journal_record parse_journal_line(std::string_view line);

namespace detail {

/// The same for a record within another message.
ELASTIC_DECL journal_record read_journal_record(const json_fields& fields);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/impl/journal_record.ipp>
#endif
