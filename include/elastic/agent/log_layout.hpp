// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/random.hpp>

#include <filesystem>
#include <string>

#include <fmt/format.h>

namespace elastic {

/// Where the files of a job's workers lie on this node:
/// `<base>/<run_id>_<8 random>/attempt_<restart count>/<local_rank>/`, with `stdout.log`,
/// `stderr.log` and `error.json`. Beside the workers' directories lie `filtered_stdout.log` and
/// `filtered_stderr.log`, with lines of all of them.
///
/// Source: the layout of torch.distributed.elastic's LocalElasticAgent.
class log_layout {
 public:
  /// No directory at all: nothing is written, and workers are given no error file.
  log_layout() = default;

  /// Makes the directory of this run below `base`, which is made where it is missing.
  /// `base` empty: a directory of its own in the temporary folder, which `discard` removes.
  /// Errors: `errc::file_access`, naming the directory.
  log_layout(const std::string& base, const std::string& run_id, random_source& random) {
    std::filesystem::path parent = base;
    if (base.empty()) {
      std::error_code failure;
      parent = std::filesystem::temp_directory_path(failure);
      if (failure) {
        throw error(errc::file_access,
                    fmt::format("no temporary folder for log files (TMPDIR): {}; name a log "
                                "directory",
                                failure.message()));
      }
      parent /= fmt::format("torchelastic_{}", random_name(random, 8));
      temporary_ = parent;
    }
    make(parent);
    root_ = parent / fmt::format("{}_{}", file_name_of(run_id), random_name(random, 8));
    make(root_);
  }

  bool enabled() const { return !root_.empty(); }

  /// Whether the files stay when the run succeeds: the user has named the directory.
  bool keeps_files() const { return enabled() && temporary_.empty(); }

  /// The directory of this run; empty where there is none (any more).
  std::string root() const { return root_.string(); }

  /// Makes the directories of an attempt. A directory of the same attempt is removed first: a
  /// restart for a changed membership has the number of the attempt before.
  /// Errors: `errc::file_access`, naming the directory.
  void start_attempt(int attempt, int local_world_size) {
    attempt_ = attempt;
    if (!enabled()) return;
    std::error_code ignored;
    std::filesystem::remove_all(attempt_directory(), ignored);
    for (int rank = 0; rank < local_world_size; ++rank) make(worker_directory(rank));
  }

  /// The files of a worker in the attempt started last; empty where there is no directory.
  std::string stdout_file(int local_rank) const { return file(local_rank, "stdout.log"); }
  std::string stderr_file(int local_rank) const { return file(local_rank, "stderr.log"); }
  std::string error_file(int local_rank) const { return file(local_rank, "error.json"); }

  /// What the hook for a hung worker writes.
  std::string hang_file(int local_rank) const { return file(local_rank, "hang.log"); }
  /// The directory of these files.
  std::string directory(int local_rank) const {
    return enabled() ? worker_directory(local_rank).string() : std::string();
  }

  /// Where the report of a run that failed is left; empty where there is no directory.
  std::string report_file() const { return enabled() ? (root_ / "report.json").string() : ""; }
  /// The files for lines of all workers that match a filter.
  std::string filtered_stdout_file() const { return shared_file("filtered_stdout.log"); }
  std::string filtered_stderr_file() const { return shared_file("filtered_stderr.log"); }

  /// The number of the attempt started last.
  int attempt() const { return attempt_; }

  /// Removes a directory that this made in the temporary folder; one that the user named stays.
  void discard() noexcept {
    if (temporary_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(temporary_, ignored);
    root_.clear();
  }

  /// The same, but only where no worker left a file.
  void discard_if_empty() {
    std::error_code failure;
    for (std::filesystem::recursive_directory_iterator entry(root_, failure), end;
         !failure && entry != end; entry.increment(failure)) {
      if (!entry->is_directory(failure)) return;
    }
    discard();
  }

 private:
  static void make(const std::filesystem::path& directory) {
    std::error_code failure;
    std::filesystem::create_directories(directory, failure);
    if (failure) {
      throw error(errc::file_access, fmt::format("cannot make the log directory '{}': {}",
                                                 directory.string(), failure.message()));
    }
  }

  // A run id is any text; as part of a file name it may not lead elsewhere.
  static std::string file_name_of(std::string run_id) {
    for (char& letter : run_id) {
      if (letter == '/' || letter == '\0') letter = '_';
    }
    return run_id.substr(0, 128);
  }

  std::filesystem::path attempt_directory() const {
    return root_ / fmt::format("attempt_{}", attempt_);
  }
  std::filesystem::path worker_directory(int local_rank) const {
    return attempt_directory() / std::to_string(local_rank);
  }
  std::string file(int local_rank, const char* name) const {
    return enabled() ? (worker_directory(local_rank) / name).string() : std::string();
  }
  std::string shared_file(const char* name) const {
    return enabled() ? (attempt_directory() / name).string() : std::string();
  }

  std::filesystem::path root_;
  std::filesystem::path temporary_;
  int attempt_ = 0;
};

}  // namespace elastic
