// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The verdict on a stall: the ranks that hold up the job, and the cause.
struct stall_verdict {
  /// The cause of a stall.
  enum class kind {
    /// No rank can be blamed.
    unknown,
    /// A rank's process has ended.
    dead,
    /// A rank was stopped by a signal or a debugger.
    stopped,
    /// A rank waits uninterruptibly in the kernel, for a disk or a file server.
    blocked,
    /// A rank left its work with an exception and waits during its exit.
    left,
    /// Ranks called different operations although all should call the same.
    mismatch,
    /// Ranks wait for each other in different groups, in a cycle.
    elsewhere,
    /// A rank has not entered the operation in which the others wait.
    behind,
    /// The same, but it computes: slow, not hung.
    slow,
    /// A rank does not answer while all others wait.
    silent,
    /// All ranks have entered the operation, and it does not end.
    transport,
  };

  /// The confidence in a verdict. Policies that kill workers should require `certain`.
  enum class confidence_level { none, likely, certain };

  kind cause = kind::unknown;
  confidence_level confidence = confidence_level::none;
  /// The ranks to blame, the most important first; empty if the cause is unknown. At most
  /// `limits::blamed_ranks`.
  std::vector<int> ranks = {};
  /// One printable line: "rank 5 (node3, local rank 1) has not entered all_reduce #4711 of group
  /// dp_0, in which 7 others have waited for 31 s; it is in data.py:88 read_shard". At most
  /// `limits::verdict_sentence_bytes`.
  std::string sentence = {};
  /// The evidence for the sentence, as printable lines. At most `limits::verdict_evidence_lines` of
  /// `limits::verdict_evidence_bytes` each.
  std::vector<std::string> evidence = {};

  friend bool operator==(const stall_verdict&, const stall_verdict&) = default;
};

/// The name of each cause, as `/api/v1`, the journal and the metrics write it.
inline constexpr std::array<std::pair<stall_verdict::kind, std::string_view>, 11> stall_causes{{
    {stall_verdict::kind::unknown, "unknown"},
    {stall_verdict::kind::dead, "dead"},
    {stall_verdict::kind::stopped, "stopped"},
    {stall_verdict::kind::blocked, "blocked"},
    {stall_verdict::kind::left, "left"},
    {stall_verdict::kind::mismatch, "mismatch"},
    {stall_verdict::kind::elsewhere, "elsewhere"},
    {stall_verdict::kind::behind, "behind"},
    {stall_verdict::kind::slow, "slow"},
    {stall_verdict::kind::silent, "silent"},
    {stall_verdict::kind::transport, "transport"},
}};

inline std::string_view to_string(stall_verdict::kind cause) {
  return stall_causes[static_cast<std::size_t>(cause)].second;
}

}  // namespace elastic::detail
