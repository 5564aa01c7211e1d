// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// Names the files of a job's workers on this node: `<base>/<run_id>_<8 random>/attempt_<restart
/// count>/<local_rank>/`, with `stdout.log`, `stderr.log` and `error.json`. A worker that outlives
/// an attempt keeps its files. `filtered_stdout.log` and `filtered_stderr.log`, with lines of all
/// workers, are beside the workers' directories. `journal.jsonl` is beside the attempts. When an
/// attempt is over, its directories are removed if nothing was written there. Only this user can
/// access the directories of a run (mode 0700), whatever the umask is.
///
/// Source: the layout of torch.distributed.elastic's LocalElasticAgent.
class log_layout {
 public:
  /// No directory: nothing is written, and workers get no error file.
  log_layout() = default;

  /// Creates the directory of this run below `base`, which is created if it is missing. If `base`
  /// is empty, a new directory in the temporary folder, which `discard` removes: in that of TMPDIR,
  /// or if no file can be created there, in /tmp or /var/tmp.
  /// @param name  the name of this run's directory, which may exist already; empty: the run id and
  ///              a random suffix
  /// Errors: `errc::file_access`, naming the directory.
  ELASTIC_DECL log_layout(const std::string& base, const std::string& run_id,
                          const std::string& name = {});

  /// Whether creating and using a directory below `base` may block on another machine or program,
  /// so that it must be done on a thread.
  ELASTIC_DECL static bool base_may_hang(const std::string& base);

  /// The warning that says why the directory is not in the preferred temporary folder; empty: it
  /// is, or the user has named the directory.
  const std::string& notice() const { return notice_; }

  bool is_enabled() const { return !root_.empty(); }

  /// Whether calls that name files of this directory may hang.
  bool may_hang() const { return may_hang_; }

  /// Notes that the directory did not answer in time. Nothing may wait for it again.
  void give_up() { is_given_up_ = true; }
  bool is_given_up() const { return is_given_up_; }

  /// Whether the files are kept when the run succeeds, because the user has named the directory.
  bool keeps_files() const { return is_enabled() && temporary_.empty(); }

  /// The directory of this run; empty if there is none (any more).
  ELASTIC_DECL std::string root() const;

  /// Creates the directories of an attempt, after those of the previous one that are empty were
  /// removed. A directory of the same attempt is removed, too: a restart after a membership change
  /// has the same number as the previous attempt.
  /// Errors: `errc::file_access`, naming the directory; none of the attempt is left then.
  ELASTIC_DECL void start_attempt(int attempt, int local_world_size);

  /// Creates a directory for one worker that is started while others keep theirs. It is that of the
  /// attempt or, if that exists already, one whose name ends with the number of the epoch. The
  /// former directory of the worker's slot is removed if it is empty.
  /// Errors: `errc::file_access`, naming the directory.
  ELASTIC_DECL void add_worker(int attempt, int local_rank, std::int64_t epoch);

  /// Notes that the worker has no files in this attempt, because its directory cannot be created.
  ELASTIC_DECL void go_without_files(int attempt, int local_rank);

  /// Whether the worker has no files although there is a directory for them.
  ELASTIC_DECL bool lacks_files(int local_rank) const;

  /// Removes the directories of the last attempt in which nothing was written.
  ELASTIC_DECL void remove_empty();

  /// The files of a worker that was started last; empty if there is no directory.
  ELASTIC_DECL std::string stdout_file(int local_rank) const;
  ELASTIC_DECL std::string stderr_file(int local_rank) const;
  ELASTIC_DECL std::string error_file(int local_rank) const;

  /// The output of the hook for a hung worker.
  ELASTIC_DECL std::string hang_file(int local_rank) const;
  /// The directory of these files.
  ELASTIC_DECL std::string directory(int local_rank) const;

  /// The report of a failed run; empty if there is no directory.
  ELASTIC_DECL std::string report_file() const;
  /// The journal of the run; empty if there is no directory.
  ELASTIC_DECL std::string journal_file() const;
  /// The files for lines of all workers that match a filter.
  ELASTIC_DECL std::string filtered_stdout_file() const;
  ELASTIC_DECL std::string filtered_stderr_file() const;

  /// The files of a worker, found in the directory of a run that another object created.
  struct found_worker {
    int local_rank = 0;
    std::string stdout_file = {};
    std::string stderr_file = {};
  };

  /// The workers that were started last in each slot and had files, by local rank.
  /// @param root  the directory of a run
  /// Errors: none; directories that cannot be read count as empty.
  ELASTIC_DECL static std::vector<found_worker> find_workers(const std::string& root);

  /// The number of the attempt started last.
  int attempt() const { return attempt_; }

  /// Removes a directory that this object created in the temporary folder; one that the user named
  /// is kept.
  ELASTIC_DECL void discard() noexcept;

  /// The same, but only if no worker left a file. The journal does not count.
  ELASTIC_DECL void discard_if_empty();

 private:
  // The directory that the user named for the directories of runs. The umask decides who may use
  // it.
  ELASTIC_DECL static void make_base(const std::filesystem::path& directory);

  // Creates a directory of this run and its missing parents. Only this user can access them.
  ELASTIC_DECL void make(const std::filesystem::path& directory) const;

  [[noreturn]] ELASTIC_DECL static void refuse(const std::filesystem::path& directory,
                                               std::string_view problem);

  /// Errors: `errc::file_access` if no temporary folder can be used.
  ELASTIC_DECL std::filesystem::path choose_temporary_folder();

  // Creates a new directory that only this user can access: others can neither read it nor have
  // created it beforehand.
  ELASTIC_DECL static std::filesystem::path make_own(const std::filesystem::path& begin);

  // Removes a worker's directory and that of its attempt, if they are empty.
  ELASTIC_DECL static void remove_if_empty(const std::filesystem::path& worker);

  // A run id may be any text. As part of a file name it must not lead to another directory, and
  // must not end the line that shows it.
  ELASTIC_DECL static std::string file_name_of(std::string run_id);
  ELASTIC_DECL std::filesystem::path attempt_directory() const;
  ELASTIC_DECL std::filesystem::path worker_directory(int local_rank) const;
  ELASTIC_DECL std::string file(int local_rank, const char* name) const;
  ELASTIC_DECL std::string shared_file(const char* name) const;

  std::filesystem::path root_;
  std::filesystem::path temporary_;
  std::string notice_;
  bool may_hang_ = false;
  bool is_given_up_ = false;
  int attempt_ = 0;
  /// By local rank; empty: no files.
  std::vector<std::filesystem::path> workers_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/log_layout.ipp>
#endif
