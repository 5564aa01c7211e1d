// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/limits.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Puts a prefix before every line of a stream that comes in pieces. Whole lines go on; an
/// unfinished one is held back until its end comes, or until it is too long to be held.
///
/// A line ends with '\n', or with '\r' where no '\n' follows: progress bars draw themselves so.
class line_prefixer {
 public:
  explicit line_prefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Takes bytes from the front of `bytes` and appends what can go on to `out`; returns how many
  /// it took: all, or fewer where `out` has grown above `limits::copy_buffer_bytes`.
  std::size_t feed(std::string_view bytes, std::string& out) {
    std::size_t taken = end_is_open_ && !bytes.empty() ? close_line(bytes.front(), out) : 0;
    const bool has_returns = bytes.find('\r') != bytes.npos;
    while (taken < bytes.size() && out.size() < limits::copy_buffer_bytes) {
      const std::string_view rest = bytes.substr(taken);
      const std::size_t size = has_returns ? line_size_with_returns(rest) : line_size(rest);
      if (size == 0) {
        hold(rest, out);
        return bytes.size();
      }
      take_line(rest.substr(0, size), out);
      taken += size;
    }
    return taken;
  }

  /// The stream has ended: what was held back goes on as it is.
  void finish(std::string& out) {
    if (!held_.empty()) put_held(out);
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

  void take_line(std::string_view line, std::string& out) {
    put_held(out);
    out.append(line);
    in_line_ = false;
  }

  // What is held ends with '\r', and `next` follows.
  std::size_t close_line(char next, std::string& out) {
    end_is_open_ = false;
    const std::string_view rest = next == '\n' ? "\n" : "";
    take_line(rest, out);
    return rest.size();
  }

  void hold(std::string_view rest, std::string& out) {
    held_.append(rest);
    end_is_open_ = held_.ends_with('\r');
    if (held_.size() <= limits::copy_line_bytes) return;
    put_held(out);
    in_line_ = true;
  }

  void put_held(std::string& out) {
    if (!in_line_) out.append(prefix_);
    out.append(held_);
    held_.clear();
  }

  std::string prefix_;
  std::string held_;
  // A piece of the current line has gone on already.
  bool in_line_ = false;
  // The held line ends with a '\r' that may be half of a "\r\n".
  bool end_is_open_ = false;
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
