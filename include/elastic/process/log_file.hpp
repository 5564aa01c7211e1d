// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/detail/unique_fd.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// When a log file is full, and what becomes of it then.
struct log_rotation {
  /// A file of this size is put aside and a new one begun; 0: it grows without end.
  std::uint64_t max_bytes = 0;
  /// How many files are kept of one log, the one being written and "<name>.1" (the newest of the
  /// others) to "<name>.<max_files - 1>"; 1 to `limits::log_files`.
  int max_files = 5;

  friend bool operator==(const log_rotation&, const log_rotation&) = default;
};

namespace detail {

// A log file, emptied. Opened for appending, so that nothing is overwritten where two streams
// go to the same file, and a file cut short by others goes on at its new end.
inline unique_fd open_log_file(const std::string& path, const syscalls& calls) {
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY;
  unique_fd file(uninterrupted([&] { return calls.open(path.c_str(), flags, 0666); }));
  if (!file) {
    throw error(errc::file_access, fmt::format("log file '{}' cannot be opened for writing: {}",
                                               path, errno_text(errno)));
  }
  return file;
}

}  // namespace detail

/// A file that output is copied to, cut by size where that is wanted.
///
/// A full file ends with a whole line: a line that does not fit begins the next file, and one that
/// was under way when the file became full is finished in it, at most `limits::copy_line_bytes`
/// above the size. A file that cannot be written is given up, one that cannot be put aside grows
/// on; both are said once in the log.
///
/// Thread-safety: one strand at a time.
class log_file {
 public:
  /// Takes over a file that is open for appending, and empty; `path` is its name.
  explicit log_file(detail::unique_fd file, std::string path = {}, log_rotation rotation = {})
      : file_(std::move(file)), path_(std::move(path)), rotation_(rotation) {}

  /// Opens a file and empties it; its directory must exist.
  /// Errors: `errc::file_access`, naming the path.
  static std::shared_ptr<log_file> open(const std::string& path, log_rotation rotation = {},
                                        const detail::syscalls& calls = detail::real_syscalls) {
    return std::make_shared<log_file>(detail::open_log_file(path, calls), path, rotation);
  }

  /// Appends all of `bytes`. Errors: none; see above.
  void write(std::string_view bytes, const logger& log) {
    while (file_ && !bytes.empty()) {
      const portion next = first_portion(bytes);
      append(bytes.substr(0, next.size), log);
      bytes.remove_prefix(next.size);
      if (next.fills && file_) put_aside(log);
    }
  }

 private:
  /// How many of the bytes belong into the file of now, and whether it is full then.
  struct portion {
    std::size_t size;
    bool fills;
  };

  portion first_portion(std::string_view bytes) const {
    if (rotation_.max_bytes == 0 || bytes.size() <= room()) return {bytes.size(), false};
    const std::size_t last_end = room() == 0 ? bytes.npos : bytes.rfind('\n', room() - 1);
    if (last_end != bytes.npos) return {last_end + 1, true};
    if (size_ > 0 && !in_line_) return {0, true};
    const std::size_t most = room_for_line();
    const std::size_t first_end = bytes.substr(0, most).find('\n');
    if (first_end != bytes.npos) return {first_end + 1, true};
    return {std::min(bytes.size(), most), bytes.size() >= most};
  }

  std::size_t room() const { return size_ < rotation_.max_bytes ? rotation_.max_bytes - size_ : 0; }

  std::size_t room_for_line() const {
    const std::uint64_t most = rotation_.max_bytes + limits::copy_line_bytes;
    return size_ < most ? most - size_ : 0;
  }

  void append(std::string_view bytes, const logger& log) {
    if (bytes.empty()) return;
    in_line_ = bytes.back() != '\n';
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written >= 0) {
        size_ += static_cast<std::uint64_t>(written);
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        log.error("log file '{}' cannot be written, output is lost: {}", path_,
                  errno_text(errno));
        file_.reset();
        return;
      }
    }
  }

  std::string name(int number) const {
    return number == 0 ? path_ : fmt::format("{}.{}", path_, number);
  }

  // The files of before move up by one, the oldest makes room.
  void put_aside(const logger& log) {
    try {
      const int oldest = std::min(others_ + 1, rotation_.max_files - 1);
      for (int number = oldest; number > 0; --number) {
        const bool moved = std::rename(name(number - 1).c_str(), name(number).c_str()) == 0;
        // Somebody may have taken one of the others away.
        if (!moved && (number == 1 || errno != ENOENT)) {
          throw error(errc::file_access, errno_text(errno));
        }
      }
      file_ = detail::open_log_file(path_, detail::real_syscalls);
      others_ = oldest;
      size_ = 0;
      in_line_ = false;
    } catch (const error& failure) {
      log.error("log file '{}' is full and cannot be put aside, it grows on: {}", path_,
                failure.what());
      rotation_.max_bytes = 0;
    }
  }

  detail::unique_fd file_;
  std::string path_;
  log_rotation rotation_;
  std::uint64_t size_ = 0;
  bool in_line_ = false;
  /// How many files were put aside and are kept.
  int others_ = 0;
};

}  // namespace elastic
