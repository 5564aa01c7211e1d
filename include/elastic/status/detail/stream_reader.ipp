// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/stream_reader.hpp>

#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void line_picker::feed(std::string_view bytes, std::string& out) {
  cutter_.feed(bytes, [&](const line_piece& piece) { return put(piece, out); });
}

ELASTIC_DECL void line_picker::finish(std::string& out) {
  cutter_.finish([&](const line_piece& piece) { return put(piece, out); });
  if (is_open_) put({{}, false, true}, out);
}

ELASTIC_DECL bool line_picker::put(const line_piece& piece, std::string& out) {
  if (piece.is_first) {
    line_.clear();
    cut_ = 0;
  }
  std::string_view text = piece.text;
  if (piece.is_last && text.ends_with('\n')) text.remove_suffix(1);
  if (piece.is_last && text.ends_with('\r')) text.remove_suffix(1);
  const std::size_t room = cut_ == 0 ? limits::read_line_bytes - line_.size() : 0;
  const std::string_view kept = text.size() > room ? beginning_of(text, room) : text;
  line_ += kept;
  cut_ += text.size() - kept.size();
  is_open_ = !piece.is_last;
  if (is_open_) return true;
  out += line_;
  if (cut_ > 0) out += fmt::format(" … ({} bytes more)", cut_);
  out += '\n';
  return true;
}

ELASTIC_DECL void stream_reader::read(const output_source& source) {
  if (has_lines()) return;
  ready_.clear();
  taken_ = 0;
  is_at_end_ = true;
  const std::optional<int> last_lines = last_lines_;
  source.path.empty() ? read_kept(source) : read_file(source.path);
  if (last_lines && !last_lines_) keep_last(*last_lines);
}

ELASTIC_DECL void stream_reader::read_kept(const output_source& source) {
  if (std::exchange(pid_, source.pid) != source.pid) {
    if (position_ > 0) finish();
    position_ = 0;
  }
  const std::uint64_t begin = source.end - source.kept.size();
  const bool is_first = std::exchange(last_lines_, std::nullopt).has_value();
  if (position_ < begin) {
    if (!is_first) skipped_ += begin - position_;
    picker_ = {};
    position_ = begin;
  }
  const auto known = static_cast<std::size_t>(position_ - begin);
  feed(std::string_view(source.kept).substr(std::min(known, source.kept.size())));
  position_ = source.end;
}

ELASTIC_DECL auto stream_reader::look_at(const std::string& path) -> file_place {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return {0, 0, 0, errno == ENOENT};
  // A process may have put anything there, even a FIFO without a writer.
  if (!S_ISREG(found.st_mode)) return {};
  return {found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size)};
}

ELASTIC_DECL void stream_reader::read_file(const std::string& path) {
  const file_place now = look_at(path);
  if (file_.number != 0 && !now.is_same_file(file_)) {
    // A rotation has renamed the file that was read.
    const std::string former = path + ".1";
    const file_place rest = look_at(former);
    if (rest.is_same_file(file_) && position_ < rest.size) {
      const std::uint64_t before = position_;
      read_on(former, rest.size);
      is_at_end_ = position_ == before;
      if (!is_at_end_) return;
    }
  }
  if (now.number == 0) {
    // A later file of this name is another one, although the system may give it the same number.
    if (now.is_missing && file_.number != 0) finish();
    if (now.is_missing) file_ = {};
    return;
  }
  if (!now.is_same_file(file_) || now.size < position_) {
    if (now.is_same_file(file_)) {
      picker_ = {};
    } else {
      finish();
    }
    position_ = 0;
    is_mid_line_ = false;
  }
  file_ = now;
  if (now.size > position_) read_on(path, now.size);
  last_lines_.reset();
}

/// Begins a window of the stream there. Result: the number of the bytes that are left out.
ELASTIC_DECL std::uint64_t stream_reader::skip_to(std::uint64_t begin) {
  if (begin <= position_) return 0;
  picker_ = {};
  is_mid_line_ = true;
  return begin - std::exchange(position_, begin);
}

ELASTIC_DECL void stream_reader::read_on(const std::string& path, std::uint64_t end) {
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) return;
  const std::uint64_t window = std::min<std::uint64_t>(end, limits::read_backlog_bytes);
  const std::uint64_t left_out = skip_to(end - window);
  if (!last_lines_) skipped_ += left_out;
  std::string piece(limits::read_piece_bytes, '\0');
  while (position_ < end) {
    const ssize_t size =
        ::pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(position_));
    if (size <= 0) return;
    position_ += static_cast<std::uint64_t>(size);
    feed(std::string_view(piece).substr(0, static_cast<std::size_t>(size)));
    // The last lines are among all of them.
    if (!last_lines_ && has_lines()) break;
  }
  is_at_end_ = position_ >= end;
}

ELASTIC_DECL void stream_reader::feed(std::string_view bytes) {
  if (is_mid_line_) {
    const std::size_t end = bytes.find('\n');
    if (end == bytes.npos) return;
    is_mid_line_ = false;
    bytes.remove_prefix(end + 1);
  }
  picker_.feed(bytes, ready_);
}

ELASTIC_DECL void stream_reader::keep_last(int lines) {
  std::size_t begin = ready_.size();
  for (int line = 0; line < lines && begin > 0; ++line) {
    const std::size_t end = begin < 2 ? ready_.npos : ready_.rfind('\n', begin - 2);
    begin = end == ready_.npos ? 0 : end + 1;
  }
  ready_.erase(0, begin);
}

ELASTIC_DECL std::string stream_reader::take(std::size_t most) {
  const std::string_view rest = std::string_view(ready_).substr(taken_);
  std::size_t size = rest.size();
  if (size > most) {
    const std::size_t end = rest.rfind('\n', most - 1);
    size = (end == rest.npos ? rest.find('\n') : end) + 1;
  }
  taken_ += size;
  return std::string(rest.substr(0, size));
}

}  // namespace elastic::detail
