// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A choice of lines from the output of a job's workers.
struct output_reading {
  struct range {
    std::int64_t first = 0;
    std::int64_t last = 0;

    friend bool operator==(const range&, const range&) = default;
  };

  /// Empty: all ranks.
  std::vector<range> ranks = {};
  bool has_out = true;
  bool has_err = true;
  /// The last lines of each stream with which it begins.
  int lines = 100;
  /// It goes on with the lines that are written later.
  bool follows = false;

  ELASTIC_DECL bool wants(std::int64_t rank, bool is_err) const;

  friend bool operator==(const output_reading&, const output_reading&) = default;
};

/// Parses ranks such as "0-7,12". Errors: `errc::invalid_argument`, one sentence.
ELASTIC_DECL std::vector<output_reading::range> parse_rank_ranges(std::string_view text);

/// The number of lines with which a reading begins. Errors: `errc::invalid_argument`.
ELASTIC_DECL int parse_read_lines(std::string_view text);

/// Parses the query of a request: "ranks=0-7&stream=stderr&lines=20&follow". Each parameter may be
/// missing, and others are passed over.
/// Errors: `errc::invalid_argument`, one sentence that names the parameter.
ELASTIC_DECL output_reading parse_output_query(std::string_view query);

/// The query that `parse_output_query` reads.
ELASTIC_DECL std::string to_query(const output_reading& reading);

/// Lines of one stream of a worker.
struct output_piece {
  std::int64_t rank = 0;
  bool is_err = false;
  /// The bytes of the stream before the text that were left out, because too much was written.
  std::uint64_t skipped = 0;
  /// Whole lines, each with '\n'.
  std::string text = {};
};

/// The output that the node which shows a job wants of the others: what somebody reads there.
struct output_request {
  struct entry {
    /// Distinguishes it from all others of this viewer.
    std::int64_t id = 0;
    /// The reader is slow: nothing more is sent until it has caught up.
    bool is_paused = false;
    output_reading reading = {};
  };

  /// The epoch of the journal of the node that shows the job; 0: nobody reads.
  std::int64_t viewer = 0;
  std::vector<entry> readings = {};
};

ELASTIC_DECL std::string to_text(const output_request& request);

/// Errors: `errc::protocol_violation`, `errc::invalid_argument`.
ELASTIC_DECL output_request parse_output_request(std::string_view text);

/// The lines that a node sends for one reading. It travels as a report of the node.
struct output_report {
  std::int64_t id = 0;
  std::vector<output_piece> pieces = {};
  /// All of the lines with which the reading begins were sent.
  bool is_drained = false;
  bool lacks_out = false;
};

/// The lines in one report: in base64, and with one line that exceeds this, at most
/// `limits::node_report_bytes`.
inline constexpr std::size_t output_report_lines_bytes = 14 * 1024;

ELASTIC_DECL std::string to_text(const output_report& report);

/// Whether a report of a node has output. Nothing else of it is checked.
ELASTIC_DECL bool is_output_report(std::string_view text);

/// Errors: `errc::protocol_violation`, one sentence that says what is wrong with it.
ELASTIC_DECL output_report parse_output_report(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/output_message.ipp>
#endif
