// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>
#include <elastic/diagnosis/detail/stall_watch.hpp>
#include <elastic/inspection/detail/inspected_workers.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A rank that was inspected.
struct inspected_rank {
  rank_evidence evidence;
  /// Its main thread's system call; -1: in none, or nobody may know.
  long system_call = -1;
  /// It could have shown its stack.
  bool is_hooked = false;
  /// The processor time that it and its children have used, and when: not for other nodes.
  std::optional<duration> processor_time = {};
  time_point looked_at{};
};

/// What a node found out about its workers.
struct node_answer {
  std::string node;
  int group_rank = 0;
  std::vector<inspected_rank> ranks;
};

/// What an inspection says about each worker of a node. @param now, wall  when it was made
ELASTIC_DECL std::vector<inspected_rank> ranks_of(const std::vector<worker_inspection>& found,
                                                  time_point now, wall_time wall);

/// Notes in the second of two looks whether workers compute between them.
ELASTIC_DECL void compare_looks(const std::vector<inspected_rank>& before,
                                std::vector<inspected_rank>& after);

/// What a stall_watch goes by.
ELASTIC_DECL stall_look look_of(const std::vector<inspected_rank>& ranks);

/// The answer for other nodes: a line of JSON for the node and one for each rank, of at most
/// `limits::inspection_answer_bytes`; ranks that have no room are left out.
/// @param with_stacks  whole stacks, instead of what a digest has room for
ELASTIC_DECL std::string to_text(const node_answer& answer, bool with_stacks);

/// Errors: `errc::protocol_violation`, naming what is wrong.
ELASTIC_DECL node_answer parse_node_answer(std::string_view text);

/// The evidence in answers of nodes, of those that can be read.
ELASTIC_DECL std::vector<rank_evidence> evidence_in(
    const std::vector<std::optional<std::string>>& answers);

/// Where ranks are, for people: ranks with the same stack once.
/// @param answers  by group rank
/// @param wanted   the ranks that are shown; none: all
ELASTIC_DECL std::string stacks_text(const std::vector<std::optional<std::string>>& answers,
                                     const std::vector<int>& wanted, bool opens_workers);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/detail/impl/inspection_answer.ipp>
#endif
