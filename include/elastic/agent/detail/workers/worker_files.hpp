// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/logs_specs.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/process_set.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

/// The directories and files for the output of the workers. A full disk must not end a running job:
/// once workers have run, those that are started later run without files if necessary.
///
/// Thread-safety: one strand at a time.
class worker_files {
 public:
  /// The files with a worker's output in the log directory; empty: none.
  struct output {
    std::string out;
    std::string err;
  };

  /// @param spec, layout  must outlive this object
  /// @param logs          null: the default ones
  ELASTIC_DECL worker_files(const worker_spec& spec, log_layout& layout,
                            std::shared_ptr<logs_specs> logs, logger log);

  /// Notes that workers have run. From now on, others can run without files.
  void become_optional() { are_optional_ = true; }

  /// Makes the directories of an attempt of all workers.
  /// Errors: `errc::file_access`, unless files are optional.
  ELASTIC_DECL task<void> start_attempt(int restart_count);

  /// Makes the directories of some workers that are started while others run.
  /// Errors: `errc::file_access`, unless files are optional.
  ELASTIC_DECL task<void> add_workers(int restart_count, std::vector<std::size_t> slots,
                                      std::int64_t epoch);

  /// The plans for the output of all workers, of which those in `slots` are about to start.
  /// Errors: those of `logs_specs::plan`; `errc::invalid_argument` if it plans for another number.
  ELASTIC_DECL std::vector<logs_specs::worker_output> plan(
      const std::vector<worker_identity>& identities, int restart_count,
      const std::vector<std::size_t>& slots);

  /// The files of a process that is about to start. Files outside of the log directory are left
  /// out: whether those may hang is not known.
  ELASTIC_DECL output files_of(const process_set::process& process) const;

  /// Removes the files from the plan of a process whose start has failed. Its output is then shown.
  /// Result: false if that does not help, or is not allowed.
  ELASTIC_DECL bool drop_files(const error& failure, std::size_t slot, int restart_count,
                               process_set::process& process);

 private:
  ELASTIC_DECL bool can_do_without(const error& failure) const;
  ELASTIC_DECL void go_without(const std::string& problem, int restart_count,
                               const std::vector<std::size_t>& slots);
  ELASTIC_DECL task<void> make(int restart_count, std::vector<std::size_t> slots,
                               std::function<void(log_layout&)> change);
  ELASTIC_DECL task<void> change_layout(std::function<void(log_layout&)> change);

  // Warns once about streams that are redirected to files although there is no log directory.
  ELASTIC_DECL void warn_of_discarded_output(const std::vector<logs_specs::worker_output>& outputs);

  const worker_spec& spec_;
  log_layout& layout_;
  std::shared_ptr<logs_specs> logs_;
  logger log_;
  bool are_optional_ = false;
  bool has_warned_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/worker_files.ipp>
#endif
