// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/nodes/detail/exclusion_list.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

class record_rows;

/// The end of a job, for all of its nodes.
struct job_ending {
  rendezvous_handler::job_end how = rendezvous_handler::job_end::failed;
  std::string why;

  friend bool operator==(const job_ending&, const job_ending&) = default;
};

/// The facts about a job that a majority of the candidates must store before any node learns them.
/// They suffice for another candidate to lead the job. There is one value, of which the newest
/// version counts.
struct round_register {
  /// The leader's term, and how many values the leader has written in it.
  std::int64_t term = 0;
  std::int64_t sequence = 0;
  /// The newest round that was complete; -1: none was.
  std::int64_t round = -1;
  /// The `node_id::random_number::high` of each of its nodes.
  std::vector<std::uint64_t> members;
  /// The one of these nodes that belongs to the leader that made the round: its workers do not
  /// outlive that leader's lease. 0: there is none.
  std::uint64_t leader_node = 0;
  int restarts = 0;
  /// The leader may not know the newest round, and begins no round until that one is over.
  bool is_uncertain = false;
  /// The workers of every node of the round have succeeded.
  bool all_finished = false;
  std::optional<job_ending> ending;
  /// The nodes that are excluded from the job; the time of each restarts with a new leader.
  std::vector<exclusion> excluded = {};

  /// Whether it replaces `other`.
  bool is_newer_than(const round_register& other) const {
    return term != other.term ? term > other.term : sequence > other.sequence;
  }

  friend bool operator==(const round_register&, const round_register&) = default;
};

/// Whether both describe the same state of the job, whichever leader wrote them and however certain
/// it was.
ELASTIC_DECL bool has_same_content(const round_register& left, const round_register& right);

/// Describes the rows of a message that belong to a register.
ELASTIC_DECL void describe(round_register& value, record_rows& rows);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/round_register.ipp>
#endif
