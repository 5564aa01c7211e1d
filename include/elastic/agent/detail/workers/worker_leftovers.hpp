// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_layout.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/error_file.hpp>

#include <sys/types.h>

#include <cstddef>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// A sentence that the file system of a file is full; empty: it is not, or that is unknown. A
/// process that wrote there has probably failed because of it, or its output is incomplete.
ELASTIC_DECL std::string full_disk_of(const std::string& file);

/// The files that failed workers left: error files, the end of their output, core files. Files on a
/// file system that may hang are read in advance, on a thread and within a time limit.
///
/// Thread-safety: one strand at a time.
class worker_leftovers {
 public:
  struct content {
    std::optional<error_file_content> error;
    std::vector<std::string> last_stderr;
    /// See `run_result::failure`.
    std::string full_disk;
    std::string core_file;
  };

  /// A failed worker and the locations of its files.
  struct source {
    std::size_t slot = 0;
    pid_t pid = 0;
    std::string error_file;
    /// A log file of its output; empty: none.
    std::string log_file;
    /// Callable from any thread.
    std::function<std::vector<std::string>()> read_tail;
    bool core_dumped = false;
    /// The start of its attempt; older core files are not its own.
    std::time_t since = 0;
  };

  /// @param layout     must outlive this object
  /// @param directory  the directory in which the workers were started; empty: this process's
  ELASTIC_DECL worker_leftovers(log_layout& layout, std::string directory,
                                std::shared_ptr<time_source> time, logger log);

  /// Reads the files that may hang, unless they were read before. If a directory does not answer
  /// within `limits::log_directory_patience`, it is given up, and the log says so.
  ///
  /// Cancellation: all types; a thread that hangs keeps hanging.
  ELASTIC_DECL task<void> read_ahead(std::vector<source> failed);

  /// The content that was read in advance; otherwise, reads it now.
  ELASTIC_DECL content read(const source& failed) const;

  /// Forgets the files of one slot, or of all slots, because new processes start there.
  void forget(std::size_t slot) { read_.erase(slot); }
  void clear() { read_.clear(); }

 private:
  using contents = std::map<std::size_t, content>;
  using reader = std::function<void(content&)>;
  using readers = std::map<std::size_t, reader>;

  ELASTIC_DECL reader log_reader_of(const source& failed) const;
  ELASTIC_DECL reader core_reader_of(const source& failed) const;
  ELASTIC_DECL task<void> read_within(duration patience, readers work,
                                      std::optional<contents>& read);

  log_layout& layout_;
  std::string directory_;
  std::shared_ptr<time_source> time_;
  logger log_;
  contents read_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/worker_leftovers.ipp>
#endif
