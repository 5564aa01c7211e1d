// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/agent_parts.hpp>
#include <elastic/agent/detail/run/role_link.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/control/worker_channels.hpp>
#include <elastic/process/process_spec.hpp>

#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

/// Describes the processes of workers, from the settings of their node and their job and from the
/// additions of opt-in modules.
///
/// Thread-safety: one strand at a time.
class process_builder {
 public:
  /// @param roles  null: the job has no other roles
  /// @param parts  may change between two calls
  /// The settings, the channels and `parts` must outlive this object.
  ELASTIC_DECL process_builder(const worker_spec& spec, const worker_channels& channels,
                               std::shared_ptr<role_link> roles,
                               const std::shared_ptr<agent_parts>& parts);

  ELASTIC_DECL process_spec make(const worker_identity& identity, const job_context& job,
                                 const std::string& error_file) const;

  /// The variables that a new process would get, and that may differ from those of a worker that
  /// keeps its process.
  ELASTIC_DECL environment_map changed_variables(const worker_identity& identity,
                                                 const job_context& job) const;

 private:
  ELASTIC_DECL std::vector<std::string> environment(const worker_identity& identity,
                                                    const job_context& job,
                                                    const std::string& error_file) const;

  const worker_spec& spec_;
  const worker_channels& channels_;
  std::shared_ptr<role_link> roles_;
  const std::shared_ptr<agent_parts>& parts_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/process_builder.ipp>
#endif
