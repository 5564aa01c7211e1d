// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
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
/// removed, or from what the agent keeps. It holds no file open, and reads at most
/// `limits::read_backlog_bytes` behind the end: what is older is skipped and counted.
///
/// Thread-safety: one thread at a time. It blocks as the file does.
class stream_reader {
 public:
  /// @param last_lines  how many of the lines that are there now it begins with; none: all
  explicit stream_reader(std::optional<int> last_lines) : last_lines_(last_lines) {}

  /// Reads on, if no line is ready.
  ELASTIC_DECL void read(const output_source& source);

  /// The stream has ended: what there is of its last line is a line.
  void finish() { picker_.finish(ready_); }

  /// Nothing more was there at the last look.
  bool has_read_all() const { return is_at_end_; }

  /// Lines that are ready, up to `most` bytes, but at least one.
  ELASTIC_DECL std::string take(std::size_t most);

  /// The bytes before the lines that are ready that were skipped since the last call.
  std::uint64_t take_skipped() { return std::exchange(skipped_, 0); }

  bool has_lines() const { return taken_ < ready_.size(); }

  /// The same, and no line is ready.
  bool is_at_end() const { return is_at_end_ && !has_lines(); }

 private:
  struct file_place {
    dev_t device = 0;
    ino_t number = 0;
    std::uint64_t size = 0;
    bool is_missing = false;

    bool is_same_file(const file_place& other) const {
      return device == other.device && number == other.number;
    }
  };

  ELASTIC_DECL static file_place look_at(const std::string& path);
  ELASTIC_DECL void read_kept(const output_source& source);
  ELASTIC_DECL void read_file(const std::string& path);
  ELASTIC_DECL void read_on(const std::string& path, std::uint64_t end);
  ELASTIC_DECL std::uint64_t skip_to(std::uint64_t begin);
  ELASTIC_DECL void feed(std::string_view bytes);
  ELASTIC_DECL void keep_last(int lines);

  line_picker picker_;
  /// The file that was read last, and the bytes of it or of the kept stream that were read.
  file_place file_;
  std::int64_t pid_ = 0;
  std::uint64_t position_ = 0;
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
