// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/inspected_workers.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace elastic::detail {

/// The most bytes that the kept flight recorders of a job may use.
inline constexpr std::size_t kept_recorder_bytes = 64 * 1024 * 1024;

/// Keeps the flight recorders of workers beside their logs, in "flight_recorder/rank_N", for
/// PyTorch's analyser. A later one of the same rank and attempt replaces the earlier one. A worker
/// can write in its folder, so links there are not followed.
///
/// Thread-safety: one strand at a time.
class kept_recorders {
 public:
  /// @param most_bytes  the most bytes that all files of this node may use
  ELASTIC_DECL explicit kept_recorders(std::size_t most_bytes);

  /// Writes the recorders of the workers on a thread, in the order of ranks. Recorders that do not
  /// fit are left out; while an earlier call still writes, all are.
  ///
  /// @param found     workers without a recorder or a log folder are skipped
  /// @param deadline  after it, the writing continues in the background
  /// Result: the folder that contains all of them; empty if there is none, some did not fit, or the
  /// deadline has passed.
  /// Errors: none. Cancellation: all types.
  ELASTIC_DECL task<std::string> keep(std::vector<worker_inspection> found,
                                      std::shared_ptr<time_source> time, time_point deadline);

 private:
  /// Shared with the thread.
  struct room {
    std::mutex mutex;
    std::size_t left = 0;
    /// The size of each file, by path.
    std::map<std::string, std::size_t> files;
  };

  ELASTIC_DECL static std::string write_all(room& budget,
                                            const std::vector<worker_inspection>& found);
  ELASTIC_DECL static bool write_one(room& budget, const std::string& folder, int directory,
                                     const worker_inspection& found);

  std::shared_ptr<room> room_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/kept_recorders.ipp>
#endif
