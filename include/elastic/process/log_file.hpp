// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
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

// A log file, emptied. Opened for appending, so that nothing is overwritten if two streams
// go to the same file, and a file cut short by others goes on at its new end.
ELASTIC_DECL unique_fd open_log_file(const std::string& path, const syscalls& calls);

}  // namespace detail

/// A file that output is copied to, cut by size if that is wanted.
///
/// A full file ends with a whole line: a line that does not fit begins the next file, and one that
/// was under way when the file became full is finished in it, at most `limits::copy_line_bytes`
/// above the size. A file that cannot be written is given up, one that cannot be put aside grows
/// on; both are said once in the log.
///
/// Thread-safety: any thread; what one call writes stays together.
class log_file {
 public:
  /// When a log file is full, and what becomes of it then.
  struct rotation {
    /// A file of this size is put aside and a new one begun; 0: it grows without end.
    std::uint64_t max_size = 0;
    /// How many files are kept of one log, the one being written and "<name>.1" (the newest of the
    /// others) to "<name>.<max_files - 1>"; 1 to `limits::log_files`.
    int max_files = 5;

    friend bool operator==(const rotation&, const rotation&) = default;
  };

  /// Takes over a file that is open for appending, and empty; `path` is its name. One that
  /// `may_hang` is closed on a thread.
  ELASTIC_DECL explicit log_file(detail::unique_fd file, std::string path = {});
  ELASTIC_DECL log_file(detail::unique_fd file, std::string path, rotation bounds,
                        bool may_hang = false);
  log_file(const log_file&) = delete;
  log_file& operator=(const log_file&) = delete;
  ELASTIC_DECL ~log_file();

  /// Opens a file and empties it; its directory must exist. One that `may_hang` is opened when it
  /// is first written.
  /// Errors: `errc::file_access`, naming the path.
  ELASTIC_DECL static std::shared_ptr<log_file> open(const std::string& path);
  ELASTIC_DECL static std::shared_ptr<log_file> open(
      const std::string& path, rotation bounds,
      const detail::syscalls& calls = detail::real_syscalls, bool may_hang = false);

  /// Appends all of `bytes`, waiting for the file system. Errors: none; see above.
  ELASTIC_DECL void write(std::string_view bytes, const logger& log);

  /// The same without a log. Result: what is to be logged, as errors.
  ELASTIC_DECL std::vector<std::string> write(std::string_view bytes);

  /// Whether a write may wait for another machine or program, as on NFS and FUSE: to be done on a
  /// thread.
  bool may_hang() const { return may_hang_; }

  const std::string& path() const { return path_; }

 private:
  /// How many of the bytes belong into the file of now, and whether it is full then.
  struct portion {
    std::size_t size;
    bool fills;
  };

  ELASTIC_DECL portion first_portion(std::string_view bytes) const;

  std::size_t room() const { return size_ < rotation_.max_size ? rotation_.max_size - size_ : 0; }

  ELASTIC_DECL std::size_t room_for_line() const;
  ELASTIC_DECL void open_now(std::vector<std::string>& problems);
  ELASTIC_DECL void append(std::string_view bytes, std::vector<std::string>& problems);
  ELASTIC_DECL std::string name(int number) const;

  // The files of before move up by one, the oldest makes room.
  ELASTIC_DECL void put_aside(std::vector<std::string>& problems);

  std::mutex mutex_;
  detail::unique_fd file_;
  const std::string path_;
  const bool may_hang_;
  /// Not opened yet.
  const detail::syscalls* opens_by_ = nullptr;
  rotation rotation_;
  std::uint64_t size_ = 0;
  bool in_line_ = false;
  /// How many files were put aside and are kept.
  int others_ = 0;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/log_file.ipp>
#endif
