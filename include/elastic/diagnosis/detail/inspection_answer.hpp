// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/inspected_workers.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>
#include <elastic/diagnosis/detail/stall_watch.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A rank that was inspected.
struct inspected_rank {
  rank_evidence evidence;
  /// Its main thread's system call; -1: none, or unknown.
  long system_call = -1;
  /// Whether it has the hook that can show its stack.
  bool is_hooked = false;
  /// The processor time of it and its children, and when that was read; not sent to other nodes.
  std::optional<duration> processor_time = {};
  time_point looked_at{};
};

/// The answer of a node: the evidence about its workers.
struct node_answer {
  std::string node;
  int group_rank = 0;
  std::vector<inspected_rank> ranks;
};

/// The evidence about each worker from an inspection of this node.
/// @param now, wall  when the inspection was made
ELASTIC_DECL std::vector<inspected_rank> ranks_of(const std::vector<worker_inspection>& found,
                                                  time_point now, wall_time wall);

/// Compares two samples and notes in the second whether workers computed between them.
ELASTIC_DECL void compare_looks(const std::vector<inspected_rank>& before,
                                std::vector<inspected_rank>& after);

/// The summary of an inspection for a stall_watch.
ELASTIC_DECL stall_look look_of(const std::vector<inspected_rank>& ranks);

/// The answer for other nodes: a line of JSON for the node and one for each rank, of at most
/// `limits::inspection_answer_bytes`; ranks that do not fit are left out.
/// @param with_stacks  include whole stacks, instead of the frames that fit into a digest
ELASTIC_DECL std::string to_text(const node_answer& answer, bool with_stacks);

/// Parses an answer. Errors: `errc::protocol_violation`, with the problem.
ELASTIC_DECL node_answer parse_node_answer(std::string_view text);

/// The evidence in the answers of nodes; skips answers that cannot be parsed.
ELASTIC_DECL std::vector<rank_evidence> evidence_in(
    const std::vector<std::optional<std::string>>& answers);

/// The stacks of ranks, as shown to users.
struct stacks_report {
  /// Ranks with the same stack are grouped.
  std::string text;
  /// The requested ranks that the job does not have; empty if a node did not answer, since it may
  /// have them.
  std::vector<int> missing;
};

/// @param answers  by group rank
/// @param wanted   the ranks to show; empty: all
ELASTIC_DECL stacks_report report_stacks(const std::vector<std::optional<std::string>>& answers,
                                         const std::vector<int>& wanted, bool opens_workers);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/inspection_answer.ipp>
#endif
