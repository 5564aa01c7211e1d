// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/job_secret.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A registry's record of the job file with which the roles of a job were started, and of the
/// agents that lead these roles, or have led them.
struct job_file_record {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  job_file_record() = default;

  struct leader {
    /// The run id of the role, such as "grpo/trainer".
    std::string run_id;
    endpoint address;
    /// See `leader_record::password`.
    std::string password;

    friend bool operator==(const leader&, const leader&) = default;
  };

  /// See `rendezvous_messages::hello::fingerprint`.
  std::string fingerprint;
  /// At most one for each run id; the newest is the last.
  std::vector<leader> leaders;

  /// Notes the agent that leads a role now. Result: whether the record changed. Forgets the oldest
  /// leader if there are more than `limits::roles`.
  ELASTIC_DECL bool note(leader newest);
};

/// Like the functions with the same names for a `leader_record`.
ELASTIC_DECL std::string registry_text(const job_file_record& record,
                                       const std::optional<job_secret>& secret);
ELASTIC_DECL job_file_record parse_job_file_record(std::string_view text, const std::string& place,
                                                   const std::optional<job_secret>& secret);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/job_file_record.ipp>
#endif
