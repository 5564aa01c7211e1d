// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/task.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Learns from the kernel that workers have written their error files. Reads none of them.
///
/// One object serves all attempts of a run, because the kernel takes 5 to 25 ms to close an inotify
/// instance.
/// Thread-safety: one strand at a time.
class error_file_watch {
 public:
  explicit error_file_watch(asio::any_io_executor strand) : stream_(std::move(strand)) {}

  /// Opens it, unless it is open.
  /// Result: whether the kernel reports changes to this process. It does not if the limit of
  /// inotify instances is reached.
  ELASTIC_DECL bool open();

  /// Forgets all files.
  ELASTIC_DECL void clear();

  /// Watches for a file, existing or new, in a folder that exists. If the folder cannot be watched,
  /// nothing is ever reported about it.
  ELASTIC_DECL void add(int local_rank, const std::string& file);

  /// Waits until files were written and closed, or moved to their names. Only if it is open.
  ///
  /// Result: the local ranks of their workers, at least one.
  /// Cancellation: all types; no event is lost.
  ELASTIC_DECL task<std::vector<int>> written();

 private:
  struct place {
    int local_rank = 0;
    std::string name;
  };

  ELASTIC_DECL std::vector<int> read_events();

  asio::posix::stream_descriptor stream_;
  /// By watch descriptor.
  std::map<int, place> places_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/error_file_watch.ipp>
#endif
