// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
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
  /// The bytes of the stream before the text since the reading began, with those left out.
  std::uint64_t begin = 0;
  /// Whole lines, each with '\n'; empty: the piece says only how far the stream is.
  std::string text = {};
};

/// A stream of a worker: its rank, and whether it is stderr.
using output_stream = std::pair<std::int64_t, bool>;

/// Counts what is missing between the pieces that reach a reader, wherever it was left out: behind
/// in a file, in a full queue, or on a connection that broke.
class output_gaps {
 public:
  /// The bytes of the stream that are missing before a piece.
  ELASTIC_DECL std::uint64_t take(const output_piece& piece);

 private:
  /// How far the streams are.
  std::map<output_stream, std::uint64_t> ends_;
};

/// The output that the node which shows a job wants of the others: what somebody reads there.
struct output_request {
  struct entry {
    /// Distinguishes it from all others, also from those of other viewers.
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

/// How far a node is with a reading: lines that are there were not sent yet, all of them were sent,
/// or nothing follows them, since its workers have ended.
enum class output_stage { behind, drained, ended };

/// The lines that a node sends for one reading. It travels as a report of the node.
struct output_report {
  std::int64_t id = 0;
  std::vector<output_piece> pieces = {};
  output_stage stage = output_stage::behind;
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
