// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The content of a journal, as far as it could be read.
struct journal_contents {
  /// The records in the order of the file.
  std::vector<journal_record> records;
  /// The number of whole lines that are not records, and the defect of the first.
  std::int64_t refused_lines = 0;
  std::string first_refusal;
  /// The last line has no end: its writer ended meanwhile.
  bool is_torn = false;
};

/// Reads the text of a journal. A last line without an end counts if it is whole.
ELASTIC_DECL journal_contents parse_journal(std::string_view text);

/// Reads a journal with the files that were put aside, oldest first; blocks.
/// @param path  a file
/// Errors: `errc::file_access`, naming the file: it cannot be read, is larger than
/// `limits::journal_read_bytes`, or has lines of which none is a record.
ELASTIC_DECL journal_contents read_journal(const std::string& path);

/// The journals of a run: `path` itself if it is a file; the journal of the log directory `path`;
/// or, if `path` holds the log directories of runs, the journals of the newest run, one for each
/// node that wrote there. They have one run id and overlap in time, directly or through others.
/// Errors: `errc::file_access`, saying what was looked for.
ELASTIC_DECL std::vector<std::string> find_journals(const std::string& path);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/journal_reader.ipp>
#endif
