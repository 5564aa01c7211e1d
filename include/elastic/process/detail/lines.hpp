// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/line_head.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// A line of a stream, or a piece of a line that is too long to buffer.
struct line_piece {
  /// Includes the line end, if the line has one and this is its last piece.
  std::string_view text;
  bool is_first;
  bool is_last;
};

/// Cuts a stream that arrives in pieces into lines. It passes on whole lines; it holds back an
/// unfinished one until its end arrives, or until it is too long to buffer.
///
/// A line ends with '\n', or with '\r' if no '\n' follows, as progress bars write it.
class line_cutter {
 public:
  /// Takes bytes from the front of `bytes` and calls `put` for each whole line, until `put` returns
  /// false because it has no room for more. Result: how many bytes were taken.
  template <class Put>
  std::size_t feed(std::string_view bytes, Put put) {
    std::size_t taken = 0;
    bool goes_on = true;
    if (end_is_open_ && !bytes.empty()) {
      // The held line ends with '\r', and `bytes` begins with what follows it.
      end_is_open_ = false;
      taken = bytes.front() == '\n' ? 1 : 0;
      goes_on = take_line(bytes.substr(0, taken), put);
    }
    const bool has_returns = bytes.find('\r') != bytes.npos;
    while (taken < bytes.size() && goes_on) {
      const std::string_view rest = bytes.substr(taken);
      const std::size_t size = has_returns ? line_size_with_returns(rest) : line_size(rest);
      if (size == 0) {
        hold(rest, put);
        return bytes.size();
      }
      goes_on = take_line(rest.substr(0, size), put);
      taken += size;
    }
    return taken;
  }

  /// Ends the stream: passes on whatever was held back, unchanged.
  template <class Put>
  void finish(Put put) {
    if (!held_.empty()) take_line({}, put);
    end_is_open_ = false;
  }

 private:
  // The size of the first line with its end; 0 if the end has not arrived yet.
  ELASTIC_DECL static std::size_t line_size(std::string_view bytes);
  ELASTIC_DECL static std::size_t line_size_with_returns(std::string_view bytes);

  template <class Put>
  bool take_line(std::string_view line, Put& put) {
    const bool is_first = !std::exchange(in_line_, false);
    if (held_.empty()) return put(line_piece{line, is_first, true});
    held_.append(line);
    const bool goes_on = put(line_piece{held_, is_first, true});
    held_.clear();
    return goes_on;
  }

  template <class Put>
  void hold(std::string_view rest, Put& put) {
    held_.append(rest);
    end_is_open_ = held_.ends_with('\r');
    if (held_.size() <= limits::copy_line_bytes) return;
    // Never splits a UTF-8 character.
    const std::size_t size = held_.size() - unfinished_character(held_);
    put(line_piece{std::string_view(held_).substr(0, size), !in_line_, false});
    held_.erase(0, size);
    in_line_ = true;
  }

  std::string held_;
  // A piece of the current line was passed on already.
  bool in_line_ = false;
  // The held line ends with a '\r' that may be half of a "\r\n".
  bool end_is_open_ = false;
};

/// Formats lines for output: the line after a prefix, or a JSON object.
class line_writer {
 public:
  line_writer(line_head head, bool json) : head_(std::move(head)), json_(json) {}

  /// Sets the process that writes the lines. Call it before the first line.
  ELASTIC_DECL void begin(pid_t pid);

  /// Sets the time at which the next lines were read.
  ELASTIC_DECL void stamp(const time_source& time);
  ELASTIC_DECL void put(const line_piece& line, std::string& out) const;

  /// The same, but every piece of a line begins with the prefix and has a line end, too.
  ELASTIC_DECL void put_alone(line_piece line, std::string& out) const;

  /// Ends a line whose last piece had no line end. An object has one already.
  ELASTIC_DECL void end_line(std::string& out) const;

 private:
  ELASTIC_DECL void put_object(const line_piece& line, std::string& out) const;

  line_head head_;
  bool json_;
  pid_t pid_ = 0;
  std::string prefix_;
};

/// Puts a prefix before every line of a stream that arrives in pieces.
class line_prefixer {
 public:
  ELASTIC_DECL explicit line_prefixer(line_head prefix, bool json = false);

  void begin(pid_t pid) { writer_.begin(pid); }
  void stamp(const time_source& time) { writer_.stamp(time); }

  /// Takes bytes from the front of `bytes` and appends what is ready to `out`. Returns how many it
  /// took: all, or fewer if `out` has grown beyond `limits::copy_buffer_bytes`.
  ELASTIC_DECL std::size_t feed(std::string_view bytes, std::string& out);

  /// Ends the stream: passes on whatever was held back. A last line that has no end gets one.
  ELASTIC_DECL void finish(std::string& out);

 private:
  line_cutter cutter_;
  line_writer writer_;
  // The pieces that were passed on end in the middle of a line.
  bool is_mid_line_ = false;
};

/// Picks the lines of a stream that contain one of several texts. A line that is too long to buffer
/// is matched piece by piece.
class line_matcher {
 public:
  ELASTIC_DECL line_matcher(std::vector<std::string> filters, line_head prefix, bool json);

  void begin(pid_t pid) { writer_.begin(pid); }
  void stamp(const time_source& time) { writer_.stamp(time); }

  /// Like `line_prefixer::feed`, for the lines that match; each has a line end.
  ELASTIC_DECL std::size_t feed(std::string_view bytes, std::string& out);
  ELASTIC_DECL void finish(std::string& out);

 private:
  ELASTIC_DECL bool matches(std::string_view line) const;

  std::vector<std::string> filters_;
  line_cutter cutter_;
  line_writer writer_;
};

/// Remembers the last lines of a stream that arrives in pieces.
class line_tail {
 public:
  ELASTIC_DECL void keep(std::string_view bytes);

  /// The lines without their ends.
  ELASTIC_DECL std::vector<std::string> lines() const;

  /// The same lines, unchanged with their ends, and the number of bytes of the stream up to their
  /// end.
  const std::string& text() const { return text_; }
  std::uint64_t end() const { return end_; }

 private:
  // The end of `bytes`: no earlier byte can be needed.
  ELASTIC_DECL static std::string_view last_lines(std::string_view bytes);

  std::string text_;
  std::uint64_t end_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/lines.ipp>
#endif
