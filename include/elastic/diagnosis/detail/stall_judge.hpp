// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>
#include <elastic/diagnosis/detail/stall_verdict.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace elastic::detail {

/// The parameters of `judge_stall`.
struct stall_judge_options {
  /// A rank counts as waiting once it has been in an operation for this long. Must exceed the time
  /// that collecting evidence takes, since the evidence of two ranks is not from the same moment.
  duration least_wait = std::chrono::seconds(3);
  /// The evidence lacks ranks of the job: the agents of some nodes did not answer.
  bool lacks_ranks = false;
};

/// Names the ranks that hold up a stalled job. Pure; 10,000 ranks take about 20 ms.
///
/// A rank holds up others if they wait in an operation of a group that it has not entered, and if
/// it does not itself wait for a rank that has not entered another operation. Sequence numbers of
/// different groups are not comparable. A rank whose groups are unknown, or for which there is no
/// evidence, makes the verdict less certain, and is blamed only on known facts.
/// docs/design/diagnosis.md has the rules.
///
/// @param evidence  one entry for each rank whose agent answered, including ranks whose process
///                  did not
ELASTIC_DECL stall_verdict judge_stall(const std::vector<rank_evidence>& evidence,
                                       const stall_judge_options& options = {});

/// The rank to end so that a stalled job can start again.
struct stall_remedy {
  /// The rank; -1: none, since no rank is certainly to blame.
  int rank = -1;
  /// A sentence that begins with the rank's name.
  std::string reason = {};
};

/// The first rank that is certainly to blame. If its process has already ended, a rank that waits
/// is ended instead.
ELASTIC_DECL stall_remedy remedy_for(const stall_verdict& verdict,
                                     const std::vector<rank_evidence>& evidence);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/stall_judge.ipp>
#endif
