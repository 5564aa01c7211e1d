// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The activity of a worker's processes so far, from /proc. Sums may decrease when a process ends.
struct worker_activity {
  duration processor_time{};
  std::size_t processes = 0;
  /// Bytes that were read and written, and the number of writes. Data that sockets transfer by
  /// their own calls, such as `send`, is not included.
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::uint64_t writes = 0;
  /// A socket has data that its peer has not received yet.
  bool sends = false;
  /// A signal or a debugger has stopped one of them.
  bool is_stopped = false;
};

/// The signs that a worker of this node has given up to one moment. Texts are as the worker wrote
/// them.
struct worker_signs {
  struct exit {
    /// "exit code 0".
    std::string how;
    bool is_success = false;
    time_point at{};
  };
  struct exception {
    /// "ValueError: no such shard".
    std::string text;
    /// When it was reported.
    time_point at{};
    /// The exception ends the program. Otherwise the script may have caught it and only printed it.
    bool is_fatal = false;
  };

  int rank = 0;
  /// Negative: it ran on another node.
  int local_rank = 0;
  pid_t pid = 0;
  /// Empty while it runs.
  std::optional<exit> ended = {};
  /// The exception that it reported; empty: none.
  std::optional<exception> failure = {};
  /// The last step that it reported (-1: none), when, and how many there are (0: unknown).
  std::int64_t step = -1;
  time_point step_at{};
  std::int64_t steps = 0;
  /// When it last sent a message, and how many bytes of its output are known.
  time_point heard_at{};
  std::uint64_t output = 0;
  /// Empty: unknown.
  std::optional<worker_activity> activity = {};
};

/// Inspects the processes of a worker, but not its sockets (`sends`). Takes about 20 µs for each
/// process and 5 µs for each thread.
///
/// @param most_files  roughly how many files of /proc may be read
/// Result: empty if the process has ended, or there is too much to read.
ELASTIC_DECL std::optional<worker_activity> look_at_activity(pid_t root, std::size_t most_files);

/// The exception in the error file of a worker, which is fatal.
///
/// @param since  an older file is not from this worker
/// Result: empty if the file does not exist, is incomplete, too large or not a regular file.
ELASTIC_DECL std::string reported_exception(const std::string& error_file, wall_time since);

/// The input and output of one inspection of a node's workers.
struct worker_look {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  worker_look() = default;

  /// The signs of all workers. The inspection adds the activity of those that run.
  std::vector<worker_signs> signs;
  /// By local rank: the error file, which the inspection replaces by the exception in it.
  std::map<int, std::string> errors;
};

/// Performs the inspection on a separate thread.
///
/// @param since  older error files do not count
/// Errors: none. Cancellation: all types.
ELASTIC_DECL task<worker_look> look_at_workers(worker_look asked, wall_time since);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/worker_signs.ipp>
#endif
