// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// A rank in a process group. Ranks are named by their index in the evidence.
struct group_member {
  std::size_t rank = 0;
  /// Null if the rank has not used the group, or nothing is known of it.
  const group_position* position = nullptr;
  /// Whether `enqueued` is known.
  bool is_known = false;
  std::int64_t enqueued = 0;
  /// The operation in which it waits; null if it does not.
  const collective_call* wait = nullptr;
};

/// A process group of a job.
struct rank_group {
  /// What people call it: its description, or "0" if there is none.
  std::string label;
  /// Whether `members` is complete.
  bool is_complete = false;
  std::vector<group_member> members = {};
  std::size_t waiting = 0;
  /// The member that has entered the fewest operations, of those of whom it is known.
  std::size_t last = 0;
  std::int64_t least_enqueued = 0;
  bool has_unknown = false;
};

/// An operation in which ranks wait: a group, and a sequence number.
struct awaited_operation {
  const rank_group* group = nullptr;
  const collective_call* call = nullptr;
  /// How many wait in it, and for how long the longest has.
  std::size_t waiting = 0;
  duration age{};
};

/// Who waits for whom in a job. Refers to the evidence, which must outlive it.
class wait_graph {
 public:
  /// @param least_wait  a rank that entered an operation later than that does not wait in it
  ELASTIC_DECL wait_graph(const std::vector<rank_evidence>& evidence, duration least_wait);

  const std::vector<rank_group>& groups() const { return groups_; }

  /// Whether any rank waits in an operation, and how many do.
  std::size_t waiting() const { return waiting_; }

  /// Whether a rank waits in an operation, sends or receives.
  bool waits(std::size_t rank) const { return ranks_[rank].waits; }

  /// Whether it waits for another that has not entered the operation, or for nobody knows whom.
  bool is_held_up(std::size_t rank) const { return ranks_[rank].is_held_up; }

  /// Whether others wait in an operation that it is known not to have entered.
  bool is_awaited(std::size_t rank) const { return ranks_[rank].is_awaited; }

  /// The operation that a rank has not entered in which most others wait; nothing if nobody waits
  /// for it.
  ELASTIC_DECL awaited_operation awaited_from(std::size_t rank) const;

  /// The operation in which most ranks wait; nothing if none does.
  ELASTIC_DECL awaited_operation most_awaited() const;

  /// A circle of ranks each of which waits for the next; empty if there is none.
  ELASTIC_DECL std::vector<std::size_t> circle() const;

 private:
  struct node {
    bool waits = false;
    bool is_held_up = false;
    bool is_awaited = false;
    /// The groups that it is in, and as which member, as indices.
    std::vector<std::pair<std::size_t, std::size_t>> groups = {};
  };

  ELASTIC_DECL void add_positions(const std::vector<rank_evidence>& evidence, duration least_wait);
  ELASTIC_DECL void add_absent(rank_group& group, const std::vector<std::size_t>& members,
                               const std::vector<rank_evidence>& evidence);
  ELASTIC_DECL void complete(rank_group& group, const std::vector<rank_evidence>& evidence);
  ELASTIC_DECL void relate(const rank_group& group);
  ELASTIC_DECL std::optional<std::size_t> held_up_by(std::size_t rank) const;

  std::vector<rank_group> groups_;
  std::vector<node> ranks_;
  std::size_t waiting_ = 0;
};

/// Counts those of a group who wait in its operation `sequence`.
ELASTIC_DECL awaited_operation operation_of(const rank_group& group, std::int64_t sequence);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/wait_graph.ipp>
#endif
