// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/json_text.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/line_head.hpp>

#include <string.h>
#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// A line of a stream, or a piece of one that is too long to be held.
struct line_piece {
  /// With its end, where it has one and this is the last piece.
  std::string_view text;
  bool is_first;
  bool is_last;
};

/// Cuts a stream that comes in pieces into lines. Whole lines go on; an unfinished one is held
/// back until its end comes, or until it is too long to be held.
///
/// A line ends with '\n', or with '\r' where no '\n' follows: progress bars draw themselves so.
class line_cutter {
 public:
  /// Takes bytes from the front of `bytes` and calls `put` for each line that is whole, until it
  /// returns false, for there is no room for more. Result: how many bytes were taken.
  template <class Put>
  std::size_t feed(std::string_view bytes, Put put) {
    std::size_t taken = 0;
    bool goes_on = true;
    if (end_is_open_ && !bytes.empty()) {
      // What is held ends with '\r', and this is what follows.
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

  /// The stream has ended: what was held back goes on as it is.
  template <class Put>
  void finish(Put put) {
    if (!held_.empty()) take_line({}, put);
    end_is_open_ = false;
  }

 private:
  // The size of the first line with its end; 0 where that has not come yet.
  static std::size_t line_size(std::string_view bytes) {
    const std::size_t end = bytes.find('\n');
    return end == bytes.npos ? 0 : end + 1;
  }

  static std::size_t line_size_with_returns(std::string_view bytes) {
    const std::size_t size = line_size(bytes);
    const std::string_view line = bytes.substr(0, size == 0 ? bytes.size() : size);
    const std::size_t back = line.find('\r');
    if (back == line.npos) return size;
    // At the very end, only what comes next tells what it is.
    if (back + 1 == line.size()) return 0;
    return line[back + 1] == '\n' ? back + 2 : back + 1;
  }

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
    // A character is not torn.
    const std::size_t size = held_.size() - unfinished_character(held_);
    put(line_piece{std::string_view(held_).substr(0, size), !in_line_, false});
    held_.erase(0, size);
    in_line_ = true;
  }

  std::string held_;
  // A piece of the current line has gone on already.
  bool in_line_ = false;
  // The held line ends with a '\r' that may be half of a "\r\n".
  bool end_is_open_ = false;
};

/// A line without its end.
inline std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// Makes of lines what is shown of them: the line behind a prefix, or a JSON object.
class line_writer {
 public:
  line_writer(line_head head, bool json) : head_(std::move(head)), json_(json) {}

  /// Whose lines they are. To be called before the first line.
  void begin(pid_t pid) {
    pid_ = pid;
    prefix_ = head_.text(pid, {});
  }

  /// When the lines of now were read.
  void stamp(const time_source& time) {
    if (head_.has_time()) prefix_ = head_.text(pid_, time.wall_now());
  }

  void put(const line_piece& line, std::string& out) const {
    if (json_) {
      put_object(line, out);
    } else {
      if (line.is_first) out.append(prefix_);
      out.append(line.text);
    }
  }

  /// The same as a line by itself: a piece of a line, too, begins with the prefix and has an end.
  void put_alone(line_piece line, std::string& out) const {
    line.is_first = true;
    put(line, out);
    if (!out.ends_with('\n')) out += '\n';
  }

 private:
  void put_object(const line_piece& line, std::string& out) const {
    out.append(prefix_.empty() ? "{" : prefix_);
    if (!line.is_last) out.append("\"more\":true,");
    out.append("\"text\":\"");
    append_json_text(out, line.is_last ? without_line_end(line.text) : line.text);
    out.append("\"}\n");
  }

  line_head head_;
  bool json_;
  pid_t pid_ = 0;
  std::string prefix_;
};

/// Puts a prefix before every line of a stream that comes in pieces.
class line_prefixer {
 public:
  explicit line_prefixer(line_head prefix, bool json = false) : writer_(std::move(prefix), json) {
    writer_.begin(0);
  }

  void begin(pid_t pid) { writer_.begin(pid); }
  void stamp(const time_source& time) { writer_.stamp(time); }

  /// Takes bytes from the front of `bytes` and appends what can go on to `out`; returns how many
  /// it took: all, or fewer where `out` has grown above `limits::copy_buffer_bytes`.
  std::size_t feed(std::string_view bytes, std::string& out) {
    return cutter_.feed(bytes, [&](const line_piece& line) {
      writer_.put(line, out);
      return out.size() < limits::copy_buffer_bytes;
    });
  }

  /// The stream has ended: what was held back goes on as it is.
  void finish(std::string& out) {
    cutter_.finish([&](const line_piece& line) {
      writer_.put(line, out);
      return true;
    });
  }

 private:
  line_cutter cutter_;
  line_writer writer_;
};

/// Picks the lines out of a stream that contain one of several texts. Of a line that is too long
/// to be held, those pieces.
class line_matcher {
 public:
  line_matcher(std::vector<std::string> filters, line_head prefix, bool json)
      : filters_(std::move(filters)), writer_(std::move(prefix), json) {
    writer_.begin(0);
  }

  void begin(pid_t pid) { writer_.begin(pid); }
  void stamp(const time_source& time) { writer_.stamp(time); }

  /// As `line_prefixer::feed`, with the lines that match; each has an end.
  std::size_t feed(std::string_view bytes, std::string& out) {
    return cutter_.feed(bytes, [&](const line_piece& line) {
      if (matches(line.text)) writer_.put_alone(line, out);
      return out.size() < limits::copy_buffer_bytes;
    });
  }

  void finish(std::string& out) {
    cutter_.finish([&](const line_piece& line) {
      if (matches(line.text)) writer_.put_alone(line, out);
      return true;
    });
  }

 private:
  bool matches(std::string_view line) const {
    return std::any_of(filters_.begin(), filters_.end(), [&](const std::string& filter) {
      return ::memmem(line.data(), line.size(), filter.data(), filter.size()) != nullptr;
    });
  }

  std::vector<std::string> filters_;
  line_cutter cutter_;
  line_writer writer_;
};

/// Remembers the last lines of a stream that comes in pieces.
class line_tail {
 public:
  void keep(std::string_view bytes) {
    const std::string_view last = last_lines(bytes);
    if (last.size() < bytes.size()) {
      text_.assign(last);
      return;
    }
    text_.append(bytes);
    const std::size_t kept = last_lines(text_).size();
    text_.erase(0, text_.size() - kept);
  }

  /// The lines without their ends.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (std::string_view rest = text_; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      all.emplace_back(line);
    }
    return all;
  }

 private:
  // The end of `bytes` that is worth keeping.
  static std::string_view last_lines(std::string_view bytes) {
    if (bytes.size() > limits::report_stderr_bytes) {
      bytes.remove_prefix(bytes.size() - limits::report_stderr_bytes);
    }
    std::size_t begin = bytes.size();
    for (std::size_t line = 0; line < limits::report_stderr_lines; ++line) {
      if (begin == 0) return bytes;
      // The end of the line before this one; the last line may lack its own.
      const std::size_t end = begin < 2 ? bytes.npos : bytes.rfind('\n', begin - 2);
      if (end == bytes.npos) return bytes;
      begin = end + 1;
    }
    return bytes.substr(begin);
  }

  std::string text_;
};

}  // namespace elastic::detail
