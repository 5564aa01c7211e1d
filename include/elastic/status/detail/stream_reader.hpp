// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/process/detail/lines.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace elastic::detail {

/// Picks the lines of a stream for a reader. Each ends with '\n', whatever it ended with. Of one
/// that is longer than `limits::read_line_bytes`, the rest is counted.
class line_picker {
 public:
  /// Appends the lines that end in `bytes` to `out`.
  ELASTIC_DECL void feed(std::string_view bytes, std::string& out);

  /// Ends the stream with what there is of its last line.
  ELASTIC_DECL void finish(std::string& out);

 private:
  ELASTIC_DECL bool put(const line_piece& piece, std::string& out);

  line_cutter cutter_;
  std::string line_;
  std::uint64_t cut_ = 0;
  bool is_open_ = false;
};

/// Reads the whole lines of one stream: from a file that grows, and may be rotated, truncated or
/// removed, or from what the agent keeps. It holds no file open, and of each file it reads at most
/// the last `limits::read_backlog_bytes`: what is older is skipped and counted. Of a file that is
/// removed, what had been there at the last look is counted; if it was rotated, a line says so.
///
/// Thread-safety: one thread at a time. It blocks as the file does.
class stream_reader {
 public:
  /// @param last_lines  how many of the lines that are there now it begins with; none: all
  explicit stream_reader(std::optional<int> last_lines) : last_lines_(last_lines) {}

  /// Reads on, if no line is ready.
  /// @param has_ended  nothing is written any more: what there is of the last line is a line
  ELASTIC_DECL void read(const output_source& source, bool has_ended);

  /// Lines that are ready, up to `most` bytes, but at least one.
  ELASTIC_DECL std::string take(std::size_t most);

  /// The bytes before the lines that are ready that were skipped since the last call.
  std::uint64_t take_skipped() { return std::exchange(skipped_, 0); }

  bool has_lines() const { return taken_ < ready_.size(); }

  /// Nothing more was there at the last look, and no line is ready.
  bool is_at_end() const { return is_at_end_ && !has_lines(); }

 private:
  struct file_id {
    dev_t device = 0;
    ino_t number = 0;
    /// The nanosecond in which it was made: a later file may get its number. 0: the system does not
    /// say.
    std::int64_t birth = 0;

    friend bool operator==(const file_id&, const file_id&) = default;
  };

  /// A regular file as it is now.
  struct open_file {
    /// None: there is no such file, or it cannot be read.
    unique_fd fd = {};
    bool is_missing = false;
    file_id id = {};
    std::uint64_t size = 0;
    /// When it was written last, in nanoseconds since 1970.
    std::int64_t written = 0;
    /// Its name is not that of a file that was rotated.
    bool is_newest = false;
    /// The file that was read last is no longer kept, nor perhaps are some between it and this one.
    bool is_after_gap = false;
  };

  ELASTIC_DECL static open_file open(const std::string& path);
  ELASTIC_DECL open_file open_next(const std::string& path) const;
  ELASTIC_DECL void read_kept(const output_source& source);
  ELASTIC_DECL void read_file(const std::string& path);
  ELASTIC_DECL void read_on(const open_file& file);
  ELASTIC_DECL void feed(std::string_view bytes);
  ELASTIC_DECL void keep_last(int lines);

  line_picker picker_;
  /// The file that was read last, and the bytes of it or of the kept stream that were read.
  std::optional<file_id> file_;
  std::int64_t pid_ = 0;
  std::uint64_t position_ = 0;
  /// The file as it was at the last look.
  std::uint64_t size_ = 0;
  std::int64_t written_ = 0;
  /// Until the first look.
  std::optional<int> last_lines_;
  /// What follows is the rest of a line whose beginning was skipped.
  bool is_mid_line_ = false;
  bool is_at_end_ = false;
  std::uint64_t skipped_ = 0;
  std::string ready_;
  std::size_t taken_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/stream_reader.ipp>
#endif
