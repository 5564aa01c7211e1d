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
  /// Null if the rank has not used the group, or nothing is known about it.
  const group_position* position = nullptr;
  /// Whether `enqueued` is known.
  bool is_known = false;
  std::int64_t enqueued = 0;
  /// The operation in which it waits; null if it does not.
  const collective_call* wait = nullptr;
};

/// A process group of a job.
struct rank_group {
  /// The name to show: its description or, without one, PyTorch's name, such as "0".
  std::string label;
  /// Whether `members` is complete: all members are known, and there is evidence about each.
  bool is_complete = false;
  std::vector<group_member> members = {};
  std::size_t waiting = 0;
  /// Among the members whose `enqueued` is known: the one that has entered the fewest operations.
  std::size_t last = 0;
  std::int64_t least_enqueued = 0;
  bool has_unknown = false;
};

/// An operation in which ranks wait: a group, and a sequence number.
struct awaited_operation {
  const rank_group* group = nullptr;
  const collective_call* call = nullptr;
  /// How many ranks wait in it, and how long the longest wait has lasted.
  std::size_t waiting = 0;
  duration age{};
};

/// Which ranks of a job wait for which others. Refers to the evidence, which must outlive it.
class wait_graph {
 public:
  /// @param least_wait  a rank that entered an operation more recently does not count as waiting in
  ///     it
  /// @param lacks_ranks  there is no evidence about some ranks of the job
  ELASTIC_DECL wait_graph(const std::vector<rank_evidence>& evidence, duration least_wait,
                          bool lacks_ranks);

  const std::vector<rank_group>& groups() const { return groups_; }

  /// How many ranks wait in an operation.
  std::size_t waiting() const { return waiting_; }

  /// Whether a rank waits in an operation, sends or receives.
  bool waits(std::size_t rank) const { return ranks_[rank].waits; }

  /// Whether it waits for a rank that has not entered the operation, or for an unknown rank.
  bool is_held_up(std::size_t rank) const { return ranks_[rank].is_held_up; }

  /// Whether others wait in an operation that it has certainly not entered.
  bool is_awaited(std::size_t rank) const { return ranks_[rank].is_awaited; }

  /// Of the operations that a rank has not entered, the one in which most others wait; empty if
  /// none wait for it.
  ELASTIC_DECL awaited_operation awaited_from(std::size_t rank) const;

  /// The operation in which most ranks wait; empty if none waits.
  ELASTIC_DECL awaited_operation most_awaited() const;

  /// A cycle of ranks, each of which waits for the next; empty if there is none.
  ELASTIC_DECL std::vector<std::size_t> circle() const;

 private:
  struct node {
    bool waits = false;
    bool is_held_up = false;
    bool is_awaited = false;
    /// Its groups, and its position among each group's members, as indices.
    std::vector<std::pair<std::size_t, std::size_t>> groups = {};
  };

  ELASTIC_DECL void add_positions(const std::vector<rank_evidence>& evidence, duration least_wait);
  ELASTIC_DECL void add_absent(rank_group& group, const std::vector<std::size_t>& members,
                               const std::vector<rank_evidence>& evidence);
  ELASTIC_DECL void complete(rank_group& group, const std::vector<rank_evidence>& evidence,
                             bool lacks_ranks);
  ELASTIC_DECL void relate(const rank_group& group);
  ELASTIC_DECL std::optional<std::size_t> held_up_by(std::size_t rank) const;

  std::vector<rank_group> groups_;
  std::vector<node> ranks_;
  std::size_t waiting_ = 0;
};

/// Counts the members of a group that wait in its operation `sequence`.
ELASTIC_DECL awaited_operation operation_of(const rank_group& group, std::int64_t sequence);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/wait_graph.ipp>
#endif
