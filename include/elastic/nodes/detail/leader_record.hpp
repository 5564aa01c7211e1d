// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/nodes/detail/round_register.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// A registry's record of the agent that leads a job: its address, and the register with the
/// leader's term.
struct leader_record {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  leader_record() = default;

  /// The address of the leader. Port 0: the last leader left in order, and another agent may lead
  /// at once.
  endpoint address;
  /// The password that nodes show only to this leader; new for each term.
  std::string password;
  /// The number of the leader's own node.
  std::uint64_t agent = 0;
  /// How long a node of the job may be silent, and how long a leader that cannot write the record
  /// keeps leading. Another agent may replace the record once it has not changed for the sum of
  /// both.
  duration silence{};
  duration lease{};
  round_register kept;
};

/// The claim of a node that has lost the leader: it has no workers of this round or an earlier one,
/// and will not start any.
struct loss_claim {
  std::int64_t term = 0;
  std::int64_t round = -1;
  /// The time after this claim for which the leader's own node may still have workers.
  duration wait{};
};

/// A record or a claim as text; with a secret, after a line that proves who wrote it.
ELASTIC_DECL std::string registry_text(const leader_record& record,
                                       const std::optional<job_secret>& secret);
ELASTIC_DECL std::string registry_text(const loss_claim& claim,
                                       const std::optional<job_secret>& secret);

/// Parses a record or a claim.
/// @param place  its name in errors: "the file '/shared/job17/leader'"
/// Errors: `errc::invalid_argument`, naming the place and what is wrong: the text has another form,
/// or reader and writer do not have the same secret, or only one of them has one.
ELASTIC_DECL leader_record parse_leader_record(std::string_view text, const std::string& place,
                                               const std::optional<job_secret>& secret);
ELASTIC_DECL loss_claim parse_loss_claim(std::string_view text, const std::string& place,
                                         const std::optional<job_secret>& secret);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/leader_record.ipp>
#endif
