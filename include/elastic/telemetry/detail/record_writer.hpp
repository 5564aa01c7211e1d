// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace elastic::detail {

struct record_writer_options {
  /// The name of the kind of file in messages.
  const char* kind = "file";
  std::string path;
  std::uint64_t max_size = limits::journal_file_bytes;
  int max_files = limits::journal_files;
  /// The beginning of each file.
  std::string head = {};
  /// Whether an existing file is overwritten instead of continued.
  bool is_anew = false;
};

/// Writes lines to a file that is rotated by size, on its caller's thread. If the file system may
/// hang, writes on its own thread, which keeps the writer alive and may outlive its other owners.
///
/// Thread-safety: one thread at a time.
class record_writer : public std::enable_shared_from_this<record_writer> {
 public:
  ELASTIC_DECL explicit record_writer(record_writer_options options);
  ELASTIC_DECL ~record_writer();

  /// Adds a line, including its end. Errors: none; see `log_problem`.
  ELASTIC_DECL void add(std::string line);

  /// Whether lines are still to be written.
  ELASTIC_DECL bool has_pending();

  /// Blocks until they are written, or the time is over. Result: whether they are written.
  ELASTIC_DECL bool wait(std::chrono::milliseconds patience);

  /// Logs the first problem, once.
  ELASTIC_DECL void log_problem(const logger& log);

  const std::string& path() const { return options_.path; }
  const char* kind() const { return options_.kind; }

 private:
  ELASTIC_DECL void write_pending();
  ELASTIC_DECL void write(std::string line);
  ELASTIC_DECL void open();
  ELASTIC_DECL bool ends_with_line() const;
  ELASTIC_DECL void append(std::string_view bytes);
  ELASTIC_DECL void put_aside();
  [[noreturn]] ELASTIC_DECL void refuse(const char* failed) const;

  const record_writer_options options_;
  const bool may_hang_;
  // Only the writing side uses these.
  unique_fd file_;
  std::uint64_t size_ = 0;
  bool is_torn_ = false;
  bool was_opened_ = false;
  // All threads use these.
  std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<std::string> pending_;
  bool is_writing_ = false;
  std::string problem_;
  bool is_problem_logged_ = false;
};

/// Waits until a writer has written everything, at most `limits::journal_patience`; logs losses.
ELASTIC_DECL task<void> finish_writing(std::shared_ptr<record_writer> writer, logger log);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/detail/record_writer.ipp>
#endif
