// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>
#include <elastic/diagnosis/stall_verdict.hpp>

#include <chrono>
#include <vector>

namespace elastic::detail {

/// What a judge of stalls goes by.
struct stall_judge_options {
  /// A rank waits in an operation that it has been in for at least so long. Longer than a
  /// collection of evidence may take: the evidence of two ranks is not of the same moment.
  duration least_wait = std::chrono::seconds(3);
};

/// Names the ranks that hold up a job which stands still. Pure; 10,000 ranks take some 20 ms.
///
/// A rank holds up others if they wait in an operation of a group that it has not entered, and if
/// it does not wait itself for a rank that has not entered another. The order of two groups'
/// sequence numbers says nothing. A rank whose group or evidence is not known makes the verdict
/// less sure, and is blamed for what is known of it alone. docs/design/diagnosis.md has the rules.
///
/// @param evidence  one entry for each rank of the job, also for one that did not answer
ELASTIC_DECL stall_verdict judge_stall(const std::vector<rank_evidence>& evidence,
                                       const stall_judge_options& options = {});

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/stall_judge.ipp>
#endif
