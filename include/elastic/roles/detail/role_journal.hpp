// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_file.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <memory>
#include <mutex>
#include <string>

namespace elastic::detail {

/// The journal of a job of several roles: one file for the records of all agents, each with the
/// name of its role.
///
/// Thread-safety: any thread.
class role_journal : public std::enable_shared_from_this<role_journal> {
 public:
  /// Opens nothing yet. The directory of the file must exist.
  ELASTIC_DECL role_journal(std::string path, logger log);

  /// The journal for one run of a role's agent.
  /// @param node  the name of the node in its records
  /// @param time  null: `system_time`
  ELASTIC_DECL std::shared_ptr<job_journal> of_role(const std::string& name, std::string node,
                                                    std::shared_ptr<time_source> time,
                                                    logger log);

  /// See `journal_file::finish`. Call it when no agent records any more.
  task<void> finish() { return file_.finish(); }

 private:
  class sink;
  ELASTIC_DECL void take(journal_record record, const std::string& role);

  std::mutex mutex_;
  journal_file file_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_journal.ipp>
#endif
