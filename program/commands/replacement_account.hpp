// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <program/commands/journal_run.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// What the replacements of ranks cost in each run, and what they saved against restarts of all
/// workers, as far as the journal shows both; a line for each, empty if no rank was replaced.
///
/// A failure has cost the time from the end of the attempt until the furthest step of the job was
/// reached again. A restart of all is compared by the median of those in the same run, from the
/// stop of the workers on, or, where there is none, by the first start of the workers, from their
/// start to their first step. Of runs whose workers report no steps nothing is known.
std::string replacement_account(const std::vector<journal_run>& runs);

}  // namespace elasticrun
