// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/task.hpp>

#include <map>
#include <string>
#include <vector>

namespace elastic::detail {

/// Learns from the kernel that workers have written their error files. Reads none of them.
///
/// Thread-safety: one strand at a time.
class error_file_watch {
 public:
  ELASTIC_DECL explicit error_file_watch(asio::any_io_executor strand);

  /// Whether the kernel reports changes to this process, which may have used up what it may watch.
  bool is_open() const { return stream_.is_open(); }

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
