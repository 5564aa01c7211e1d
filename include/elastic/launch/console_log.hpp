// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs that run jobs, not for programs that embed one.

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/console_target.hpp>

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace elastic {

/// "WARNING 2026-11-20 14:03:21.042 text": a record of `console_log`, with its line end. The time
/// is local. Control characters other than line ends and tabs are escaped, since log text may quote
/// external input.
ELASTIC_DECL std::string log_line(log_level level, wall_time moment, std::string_view text);

/// Writes a text that is no record, such as a report, to a descriptor. It begins a new line there,
/// as a record does. An empty text writes nothing. Waits for the reader; a closed other end is
/// ignored.
ELASTIC_DECL void show_text(std::string_view text, int descriptor = STDERR_FILENO);

/// Writes log records to a descriptor, such as stderr. It is meant for programs, not for libraries.
/// Each record begins a new line, even if this process has shown an unfinished line of a worker
/// there.
///
/// If the other end does not read, it waits once for a tenth of a second, and then drops records
/// until there is room again; a line then says how many were dropped. A closed other end is
/// ignored.
///
/// Thread-safety: all members, from any thread.
class ELASTIC_EXPORT console_log final : public log_handler {
 public:
  /// `descriptor` is borrowed: the log keeps a duplicate.
  /// Errors: `errc::invalid_argument` if `time` is null.
  ELASTIC_DECL explicit console_log(std::shared_ptr<time_source> time,
                                    int descriptor = STDERR_FILENO);
  ELASTIC_DECL void write(log_level level, std::string_view text) noexcept override;

 private:
  /// Result: false if nothing was written because there was no room.
  ELASTIC_DECL bool send(std::string_view bytes, bool was_full);

  static constexpr int patience_milliseconds = 100;

  std::shared_ptr<time_source> time_;
  std::mutex mutex_;
  detail::console_target target_;
  std::atomic<int> lost_{0};
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/console_log.ipp>
#endif
