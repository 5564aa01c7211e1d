// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/wait_graph.hpp>

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace elastic::detail {

/// Whether a position belongs to the group of all ranks.
inline bool is_group_of_all(const group_position& position) {
  return position.members.empty() && position.description == "default_pg";
}

inline bool is_waited_in(const collective_call& call, duration least_wait) {
  // An age of 0 means unknown.
  return call.age == duration::zero() || call.age >= least_wait;
}

ELASTIC_DECL wait_graph::wait_graph(const std::vector<rank_evidence>& evidence,
                                    duration least_wait, bool lacks_ranks) {
  ranks_.resize(evidence.size());
  add_positions(evidence, least_wait);
  for (rank_group& group : groups_) {
    complete(group, evidence, lacks_ranks);
    relate(group);
  }
}

ELASTIC_DECL void wait_graph::add_positions(const std::vector<rank_evidence>& evidence,
                                            duration least_wait) {
  std::unordered_map<std::string_view, std::vector<std::size_t>> groups_of_name;
  for (std::size_t rank = 0; rank < evidence.size(); ++rank) {
    node& own = ranks_[rank];
    for (const group_position& position : evidence[rank].groups) {
      // Two groups without a common member may share a name.
      std::vector<std::size_t>& indices = groups_of_name[position.name];
      auto index = std::find_if(indices.begin(), indices.end(), [&](std::size_t each) {
        return groups_[each].members.front().position->members == position.members;
      });
      if (index == indices.end()) {
        index = indices.insert(index, groups_.size());
        const std::string& label = position.description;
        groups_.emplace_back().label = label.empty() ? position.name : label;
      }
      rank_group& group = groups_[*index];
      // If a dump lists a group twice, the first entry counts.
      if (!group.members.empty() && group.members.back().rank == rank) continue;
      const auto& call = position.outstanding;
      const bool waits = call && is_waited_in(*call, least_wait);
      own.waits = own.waits || waits;
      own.groups.emplace_back(*index, group.members.size());
      // The peer of a send or receive is unknown.
      if (waits && call->is_point_to_point) own.is_held_up = true;
      const bool is_wait = waits && !call->is_point_to_point;
      group.members.push_back(
          {rank, &position, true, position.enqueued, is_wait ? &*call : nullptr});
    }
    if (own.waits) ++waiting_;
  }
}

/// Adds the members that have not used the group, as indices in ascending order.
ELASTIC_DECL void wait_graph::add_absent(rank_group& group, const std::vector<std::size_t>& members,
                                         const std::vector<rank_evidence>& evidence) {
  const std::size_t group_index = static_cast<std::size_t>(&group - groups_.data());
  const std::size_t users = group.members.size();
  std::size_t next = 0;
  for (const std::size_t rank : members) {
    while (next < users && group.members[next].rank < rank) ++next;
    if (next < users && group.members[next].rank == rank) continue;
    // The recorder of a rank lists only groups that the rank has used.
    const bool is_known = evidence[rank].recorder == recorder_state::answered;
    ranks_[rank].groups.emplace_back(group_index, group.members.size());
    group.members.push_back({rank, nullptr, is_known, 0, nullptr});
  }
}

ELASTIC_DECL void wait_graph::complete(rank_group& group,
                                       const std::vector<rank_evidence>& evidence,
                                       bool lacks_ranks) {
  const group_position& position = *group.members.front().position;
  const bool is_of_all = is_group_of_all(position);
  group.is_complete = is_of_all ? !lacks_ranks : !position.members.empty();
  const std::size_t size = is_of_all ? evidence.size() : position.members.size();
  // Absent members matter only for groups in which some rank waits.
  const bool waits =
      std::any_of(group.members.begin(), group.members.end(),
                  [](const group_member& member) { return member.wait != nullptr; });
  const bool is_known = is_of_all || group.is_complete;
  if (is_known && waits && group.members.size() < size) {
    std::vector<std::size_t> members;
    for (std::size_t rank = 0; rank < evidence.size(); ++rank) {
      if (is_of_all || position.members.contains(evidence[rank].rank)) members.push_back(rank);
    }
    add_absent(group, members, evidence);
    group.is_complete = group.is_complete && group.members.size() == size;
  }
  group.least_enqueued = std::numeric_limits<std::int64_t>::max();
  for (std::size_t index = 0; index < group.members.size(); ++index) {
    const group_member& member = group.members[index];
    if (member.wait != nullptr) ++group.waiting;
    if (!member.is_known) group.has_unknown = true;
    if (!member.is_known || member.enqueued >= group.least_enqueued) continue;
    group.least_enqueued = member.enqueued;
    group.last = index;
  }
}

ELASTIC_DECL void wait_graph::relate(const rank_group& group) {
  std::int64_t highest = 0;
  for (const group_member& member : group.members) {
    if (member.wait == nullptr) continue;
    highest = std::max(highest, member.wait->sequence);
    const bool is_short = member.wait->sequence > group.least_enqueued;
    if (is_short || !group.is_complete || group.has_unknown) {
      ranks_[member.rank].is_held_up = true;
    }
  }
  for (const group_member& member : group.members) {
    if (member.is_known && member.enqueued < highest) ranks_[member.rank].is_awaited = true;
  }
}

ELASTIC_DECL awaited_operation operation_of(const rank_group& group, std::int64_t sequence) {
  awaited_operation operation{&group};
  for (const group_member& member : group.members) {
    if (member.wait == nullptr || member.wait->sequence != sequence) continue;
    if (operation.call == nullptr) operation.call = member.wait;
    ++operation.waiting;
    operation.age = std::max(operation.age, member.wait->age);
  }
  return operation;
}

ELASTIC_DECL awaited_operation wait_graph::awaited_from(std::size_t rank) const {
  awaited_operation most;
  for (const auto& [index, own] : ranks_[rank].groups) {
    const rank_group& group = groups_[index];
    if (group.waiting == 0) continue;
    const std::int64_t entered = group.members[own].enqueued;
    // The first awaited operation that the rank has not entered.
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    for (const group_member& member : group.members) {
      if (member.wait != nullptr && member.wait->sequence > entered) {
        first = std::min(first, member.wait->sequence);
      }
    }
    const awaited_operation operation = operation_of(group, first);
    if (operation.waiting > most.waiting) most = operation;
  }
  return most;
}

ELASTIC_DECL awaited_operation wait_graph::most_awaited() const {
  awaited_operation most;
  for (const rank_group& group : groups_) {
    if (group.waiting <= most.waiting) continue;
    std::map<std::int64_t, std::size_t> counts;
    for (const group_member& member : group.members) {
      if (member.wait != nullptr) ++counts[member.wait->sequence];
    }
    for (const auto& [sequence, count] : counts) {
      if (count > most.waiting) most = operation_of(group, sequence);
    }
  }
  return most;
}

/// A rank that has not entered an operation in which `rank` waits.
ELASTIC_DECL std::optional<std::size_t> wait_graph::held_up_by(std::size_t rank) const {
  for (const auto& [index, own] : ranks_[rank].groups) {
    const rank_group& group = groups_[index];
    const collective_call* const wait = group.members[own].wait;
    if (wait != nullptr && wait->sequence > group.least_enqueued) {
      return group.members[group.last].rank;
    }
  }
  return std::nullopt;
}

ELASTIC_DECL std::vector<std::size_t> wait_graph::circle() const {
  // The walk that first reached each rank. A walk that reaches a rank of an earlier walk can stop:
  // it would only repeat that walk.
  constexpr std::size_t none = 0;
  std::vector<std::size_t> walks(ranks_.size(), none);
  for (std::size_t start = 0; start < ranks_.size(); ++start) {
    std::vector<std::size_t> path;
    std::optional<std::size_t> rank = start;
    while (rank && walks[*rank] == none) {
      walks[*rank] = start + 1;
      path.push_back(*rank);
      rank = held_up_by(*rank);
    }
    if (rank && walks[*rank] == start + 1) {
      return {std::find(path.begin(), path.end(), *rank), path.end()};
    }
  }
  return {};
}

}  // namespace elastic::detail
