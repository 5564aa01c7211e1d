// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/lines.hpp>

#include <string.h>

#include <algorithm>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL std::size_t line_cutter::line_size(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  return end == bytes.npos ? 0 : end + 1;
}

ELASTIC_DECL std::size_t line_cutter::line_size_with_returns(std::string_view bytes) {
  const std::size_t size = line_size(bytes);
  const std::string_view line = bytes.substr(0, size == 0 ? bytes.size() : size);
  const std::size_t back = line.find('\r');
  if (back == line.npos) return size;
  // A '\r' at the very end: only the next byte shows whether it is a complete line end.
  if (back + 1 == line.size()) return 0;
  return line[back + 1] == '\n' ? back + 2 : back + 1;
}

/// A line without its end.
inline std::string_view without_line_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

ELASTIC_DECL void line_writer::begin(pid_t pid) {
  pid_ = pid;
  prefix_ = head_.text(pid, {});
}

ELASTIC_DECL void line_writer::stamp(const time_source& time) {
  if (head_.has_time()) prefix_ = head_.text(pid_, time.wall_now());
}

ELASTIC_DECL void line_writer::put(const line_piece& line, std::string& out) const {
  if (json_) {
    put_object(line, out);
  } else {
    if (line.is_first) out.append(prefix_);
    out.append(line.text);
  }
}

ELASTIC_DECL void line_writer::put_alone(line_piece line, std::string& out) const {
  line.is_first = true;
  put(line, out);
  if (!out.ends_with('\n')) out += '\n';
}

ELASTIC_DECL void line_writer::end_line(std::string& out) const {
  if (!json_) out += '\n';
}

ELASTIC_DECL void line_writer::put_object(const line_piece& line, std::string& out) const {
  out.append(prefix_.empty() ? "{" : prefix_);
  if (!line.is_last) out.append("\"more\":true,");
  out.append("\"text\":\"");
  append_json_text(out, line.is_last ? without_line_end(line.text) : line.text);
  out.append("\"}\n");
}

ELASTIC_DECL line_prefixer::line_prefixer(line_head prefix, bool json)
    : writer_(std::move(prefix), json) {
  writer_.begin(0);
}

ELASTIC_DECL std::size_t line_prefixer::feed(std::string_view bytes, std::string& out) {
  return cutter_.feed(bytes, [&](const line_piece& line) {
    writer_.put(line, out);
    is_mid_line_ = !line.is_last;
    return out.size() < limits::copy_buffer_bytes;
  });
}

ELASTIC_DECL void line_prefixer::finish(std::string& out) {
  cutter_.finish([&](const line_piece& line) {
    writer_.put(line, out);
    is_mid_line_ = !line.text.ends_with('\r');
    return true;
  });
  if (std::exchange(is_mid_line_, false)) writer_.end_line(out);
}

ELASTIC_DECL line_matcher::line_matcher(std::vector<std::string> filters, line_head prefix,
                                        bool json)
    : filters_(std::move(filters)), writer_(std::move(prefix), json) {
  writer_.begin(0);
}

ELASTIC_DECL std::size_t line_matcher::feed(std::string_view bytes, std::string& out) {
  return cutter_.feed(bytes, [&](const line_piece& line) {
    if (matches(line.text)) writer_.put_alone(line, out);
    return out.size() < limits::copy_buffer_bytes;
  });
}

ELASTIC_DECL void line_matcher::finish(std::string& out) {
  cutter_.finish([&](const line_piece& line) {
    if (matches(line.text)) writer_.put_alone(line, out);
    return true;
  });
}

ELASTIC_DECL bool line_matcher::matches(std::string_view line) const {
  return std::any_of(filters_.begin(), filters_.end(), [&](const std::string& filter) {
    return ::memmem(line.data(), line.size(), filter.data(), filter.size()) != nullptr;
  });
}

ELASTIC_DECL void line_tail::keep(std::string_view bytes) {
  end_ += bytes.size();
  const std::string_view last = last_lines(bytes);
  if (last.size() < bytes.size()) {
    text_.assign(last);
    return;
  }
  text_.append(bytes);
  const std::size_t kept = last_lines(text_).size();
  text_.erase(0, text_.size() - kept);
}

ELASTIC_DECL std::vector<std::string> line_tail::lines() const {
  std::vector<std::string> list;
  for (std::string_view rest = text_; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    list.emplace_back(line);
  }
  return list;
}

ELASTIC_DECL std::string_view line_tail::last_lines(std::string_view bytes) {
  if (bytes.size() > limits::report_stderr_bytes) {
    bytes.remove_prefix(bytes.size() - limits::report_stderr_bytes);
  }
  std::size_t begin = bytes.size();
  for (std::size_t line = 0; line < limits::report_stderr_lines; ++line) {
    if (begin == 0) return bytes;
    // The end of the previous line; the last line may lack its own.
    const std::size_t end = begin < 2 ? bytes.npos : bytes.rfind('\n', begin - 2);
    if (end == bytes.npos) return bytes;
    begin = end + 1;
  }
  return bytes.substr(begin);
}

}  // namespace elastic::detail
