// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/stream_reader.hpp>

#include <elastic/base/detail/json_text.hpp>
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

ELASTIC_DECL void stream_reader::read(const output_source& source, bool has_ended) {
  if (has_lines()) return;
  ready_.clear();
  taken_ = 0;
  is_at_end_ = true;
  const std::optional<int> last_lines = last_lines_;
  source.path.empty() ? read_kept(source) : read_file(source.path);
  if (has_ended && is_at_end_) picker_.finish(ready_);
  if (last_lines && !last_lines_) keep_last(*last_lines);
}

ELASTIC_DECL void stream_reader::read_kept(const output_source& source) {
  if (std::exchange(pid_, source.pid) != source.pid) {
    if (position_ > 0) picker_.finish(ready_);
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

/// The time at which a file was made, in nanoseconds since 1970; 0: the system does not say.
inline std::int64_t birth_of(int file) {
#if defined(STATX_BTIME)
  struct statx found{};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &found) != 0) return 0;
  return found.stx_btime.tv_sec * 1'000'000'000 + found.stx_btime.tv_nsec;
#else
  static_cast<void>(file);
  return 0;
#endif
}

ELASTIC_DECL auto stream_reader::open(const std::string& path) -> open_file {
  // A process may have put anything there, even a FIFO without a writer.
  open_file file{unique_fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC))};
  file.is_missing = !file.fd && errno == ENOENT;
  struct stat found{};
  if (!file.fd || ::fstat(file.fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    file.fd.reset();
    return file;
  }
  file.id = {found.st_dev, found.st_ino, birth_of(file.fd.get())};
  file.size = static_cast<std::uint64_t>(found.st_size);
  file.written = found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec;
  return file;
}

/// The file to read from: the one that was read last, under the name that rotations have given it,
/// as long as more is in it; then the one that came after it, or the oldest of those that are kept.
ELASTIC_DECL auto stream_reader::open_next(const std::string& path) const -> open_file {
  open_file newest = open(path);
  newest.is_newest = true;
  if (!file_ || newest.id == *file_) return newest;
  open_file newer;
  // While files are renamed, one number is missing.
  for (int number = 1, missing = 0; number < limits::log_files && missing < 2; ++number) {
    open_file older = open(fmt::format("{}.{}", path, number));
    if (!older.fd) ++missing;
    if (!older.fd) continue;
    if (older.id == *file_ && position_ < older.size) return older;
    if (older.id == *file_) return newer.fd ? std::move(newer) : std::move(newest);
    newer = std::move(older);
  }
  // If nothing was written to it since, it is older than the file that was read, which then was not
  // rotated, but removed or replaced.
  newer.is_after_gap = newer.fd && newer.written > written_;
  return newer.is_after_gap ? std::move(newer) : std::move(newest);
}

ELASTIC_DECL void stream_reader::read_file(const std::string& path) {
  const open_file file = open_next(path);
  if (!file.fd) {
    // A later file of this name is another one.
    if (file.is_missing && std::exchange(file_, std::nullopt)) picker_.finish(ready_);
    return;
  }
  const bool is_other = std::exchange(file_, file.id) != file.id;
  if (is_other) picker_.finish(ready_);
  if (file.is_after_gap) ready_ += "… (log files were removed here: lines may be missing)\n";
  if (is_other || file.size < position_) {
    skipped_ += size_ - position_;
    picker_ = {};
    position_ = 0;
    is_mid_line_ = false;
  }
  size_ = file.size;
  written_ = file.written;
  read_on(file);
  last_lines_.reset();
}

ELASTIC_DECL void stream_reader::read_on(const open_file& file) {
  constexpr std::uint64_t most = limits::read_backlog_bytes;
  if (const auto begin = file.size - std::min(file.size, most); position_ < begin) {
    if (!last_lines_) skipped_ += begin - position_;
    picker_ = {};
    is_mid_line_ = true;
    position_ = begin;
  }
  const std::uint64_t rest = file.size - position_;
  std::string piece(std::min<std::uint64_t>(rest, limits::read_piece_bytes), '\0');
  while (position_ < file.size) {
    const ssize_t size =
        ::pread(file.fd.get(), piece.data(), piece.size(), static_cast<off_t>(position_));
    if (size <= 0) return;
    position_ += static_cast<std::uint64_t>(size);
    feed(std::string_view(piece).substr(0, static_cast<std::size_t>(size)));
    // The last lines are among all of them.
    if (!last_lines_ && has_lines()) break;
  }
  is_at_end_ = file.is_newest && position_ >= file.size;
}

ELASTIC_DECL void stream_reader::feed(std::string_view bytes) {
  if (is_mid_line_) {
    const std::size_t end = bytes.find('\n');
    const std::size_t size = end == bytes.npos ? bytes.size() : end + 1;
    if (!last_lines_) skipped_ += size;
    bytes.remove_prefix(size);
    is_mid_line_ = end == bytes.npos;
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
