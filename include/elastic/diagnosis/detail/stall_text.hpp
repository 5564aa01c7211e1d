// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>
#include <elastic/diagnosis/detail/wait_graph.hpp>
#include <elastic/diagnosis/detail/stall_verdict.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// The wording of verdicts. Text from workers is made printable.
namespace elastic::detail {

/// "rank 5 (node3, local rank 1)"
ELASTIC_DECL std::string name_of(const rank_evidence& rank);

/// The same for one, "ranks 5-7" for several. `ranks` are indices of the evidence, at least one.
ELASTIC_DECL std::string names_of(const std::vector<rank_evidence>& evidence,
                                  const std::vector<std::size_t>& ranks);

/// The sentence of a verdict without the name of its only rank, for a text that has just named it:
/// "rank 5 (node3, local rank 1) has not entered …" → "it has not entered …". A sentence about
/// several ranks stays as it is.
ELASTIC_DECL std::string without_name(const std::string& sentence);

inline std::string_view are(const std::vector<std::size_t>& ranks) {
  return ranks.size() == 1 ? "is" : "are";
}
inline std::string_view have(const std::vector<std::size_t>& ranks) {
  return ranks.size() == 1 ? "has" : "have";
}

/// "7 others"
ELASTIC_DECL std::string count_of_others(std::size_t count);

/// " for 31 s"; empty if unknown.
ELASTIC_DECL std::string for_time(duration time);

/// ", in data.py:88 read_shard"; empty if the stack is unknown.
ELASTIC_DECL std::string in_frame(const rank_evidence& rank);

/// " with [[5, 7]] Float"; empty for an operation without inputs.
ELASTIC_DECL std::string inputs_of(const collective_call& call);

/// "all_reduce #6 of group dp_0, in which 7 others have waited for 31 s"
ELASTIC_DECL std::string to_text(const awaited_operation& operation);

/// "; 7 others have waited in all_reduce #6 of group dp_0 for 31 s"; empty if none wait.
ELASTIC_DECL std::string while_others_wait(const awaited_operation& operation);

/// " (exit code 1)"; empty if the failure is unknown.
ELASTIC_DECL std::string failure_in_parentheses(const rank_evidence& rank);

/// " by ValueError: …"; empty if the failure is unknown.
ELASTIC_DECL std::string by_failure(const rank_evidence& rank);

/// The file system, such as "NFS", for a kernel function in which a process waits for one; empty
/// for any other function.
ELASTIC_DECL std::string_view file_system_of(std::string_view wait_channel);

/// Whether a rank uses a processor, even if it has to share one with others.
ELASTIC_DECL bool computes(const rank_evidence& rank);

/// The location and state of a rank, such as "it is in data.py:88 read_shard", with other possible
/// reasons for its delay.
ELASTIC_DECL std::string whereabouts(const rank_evidence& rank, stall_verdict::kind cause);

/// A text that is equal for calls that match each other: the operation and, if these must be the
/// same on all ranks, the types and numbers of elements of its inputs.
ELASTIC_DECL std::string signature_of(const collective_call& call);

/// The operation of torch.distributed in which a thread waits; empty if none.
ELASTIC_DECL std::string collective_in(const std::vector<stack_frame>& stack);
inline bool is_in_collective(const std::vector<stack_frame>& stack) {
  return !collective_in(stack).empty();
}

/// Whether a program is about to end.
ELASTIC_DECL bool is_in_teardown(const std::vector<stack_frame>& stack);

/// The location of a rank's main thread: "; it is in data.py:88 read_shard", "; its interpreter
/// does not end, since wandb holds it, in sync.py:88 finish", "; its main thread waits in the
/// kernel, in futex_do_wait"; empty if that is not known.
ELASTIC_DECL std::string place_of(const rank_evidence& rank);

/// Lines of evidence about a rank: its positions, its process, its stack.
ELASTIC_DECL std::vector<std::string> lines_about(const rank_evidence& rank);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/stall_text.ipp>
#endif
