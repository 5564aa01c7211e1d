// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <program/commands/journal_run.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// The cost of the replacements of ranks in each run, and the time that they saved compared with
/// restarts of all workers, as far as the journal shows both. One line for each run; empty if no
/// rank was replaced.
///
/// A failure costs the time from the end of the attempt until the job reached its furthest step
/// again. It is compared with the median cost of the restarts of all workers in the same run,
/// counted from the stop of the workers. If there was none, it is compared with the time from the
/// first start of the workers to their first step. For runs whose workers report no steps, both are
/// unknown.
std::string replacement_account(const std::vector<journal_run>& runs);

}  // namespace elasticrun
