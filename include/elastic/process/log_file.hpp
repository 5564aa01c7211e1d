// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/log.hpp>
#include <elastic/process/detail/syscalls.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

namespace detail {

// Opens a log file and empties it. It is opened for appending: two streams to the same file
// overwrite nothing, and if someone truncates the file, writing continues at its new end.
ELASTIC_DECL unique_fd open_log_file(const std::string& path, const syscalls& calls);

}  // namespace detail

/// A file to which output is copied, optionally rotated by size.
///
/// A full file ends with a complete line: a line that does not fit begins the next file, and a line
/// that was incomplete when the file became full is finished in it, up to `limits::copy_line_bytes`
/// above the size. While the file system is full, output is lost, which is logged with the number
/// of bytes, at most `most_reports` times; a file that cannot be written for another reason is
/// abandoned, and one that cannot be rotated keeps growing, which is logged once.
///
/// Thread-safety: any thread; the bytes of one call stay together.
class log_file {
 public:
  /// How often a file reports that it loses output.
  static constexpr int most_reports = 8;

  /// When a log file is rotated, and how many files are kept.
  struct rotation {
    /// The size at which a file is rotated; 0: never.
    std::uint64_t max_size = 0;
    /// How many files of a log are kept: the current one and "<name>.1" (the newest of the others)
    /// to "<name>.<max_files - 1>"; 1 to `limits::log_files`.
    int max_files = 5;

    friend bool operator==(const rotation&, const rotation&) = default;
  };

  log_file(const log_file&) = delete;
  log_file& operator=(const log_file&) = delete;
  ELASTIC_DECL ~log_file();

  /// Opens a file and truncates it; its directory must exist. If it `may_hang`, it is opened when
  /// it is first written.
  /// Errors: `errc::file_access`, naming the path.
  ELASTIC_DECL static std::shared_ptr<log_file> open(const std::string& path);
  ELASTIC_DECL static std::shared_ptr<log_file> open(const std::string& path, rotation bounds,
                                                     bool may_hang = false);

  /// Appends all of `bytes`, waiting for the file system. Errors: none; see above.
  ELASTIC_DECL void write(std::string_view bytes, const logger& log);

  /// The same, but returns errors instead of logging them. Result: one text for each error.
  ELASTIC_DECL std::vector<std::string> write(std::string_view bytes);

  /// Whether a write may block on another machine or program, as on NFS and FUSE, so that it must
  /// be done on a thread.
  bool may_hang() const { return may_hang_; }

  const std::string& path() const { return path_; }

 private:
  friend detail::internals;

  /// Takes ownership of an empty file that is open for appending; `path` is its name. If it
  /// `may_hang`, it is closed on a thread.
  ELASTIC_DECL log_file(detail::unique_fd file, std::string path, rotation bounds, bool may_hang);

  /// Opens it by these calls.
  ELASTIC_DECL static std::shared_ptr<log_file> open(const std::string& path, rotation bounds,
                                                     const detail::syscalls& calls, bool may_hang);

  /// How many of the bytes belong in the current file, and whether it is full after them.
  struct portion {
    std::size_t size;
    bool fills;
  };

  ELASTIC_DECL portion first_portion(std::string_view bytes) const;

  std::size_t room() const { return size_ < rotation_.max_size ? rotation_.max_size - size_ : 0; }

  ELASTIC_DECL std::size_t room_for_line() const;
  ELASTIC_DECL void open_now(std::vector<std::string>& problems);
  ELASTIC_DECL void append(std::string_view bytes, std::vector<std::string>& problems);

  // Result: how many bytes were written; if not all, errno says why.
  ELASTIC_DECL std::size_t write_some(std::string_view bytes);
  ELASTIC_DECL void lose(std::size_t count, int number, std::vector<std::string>& problems);
  ELASTIC_DECL void report_recovery(std::vector<std::string>& problems);
  ELASTIC_DECL std::string name(int number) const;

  // Renames each older file to the next number and drops the oldest.
  ELASTIC_DECL void put_aside(std::vector<std::string>& problems);

  std::mutex mutex_;
  detail::unique_fd file_;
  const std::string path_;
  const bool may_hang_;
  /// Set until the file is opened.
  const detail::syscalls* opens_by_ = nullptr;
  rotation rotation_;
  std::uint64_t size_ = 0;
  bool in_line_ = false;
  /// The bytes that were lost since the last successful write.
  std::uint64_t lost_ = 0;
  int reported_losses_ = 0;
  /// How many rotated files exist.
  int others_ = 0;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/log_file.ipp>
#endif
