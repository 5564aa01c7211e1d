// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/journal_reader.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// Describes a run in plain words, from the journals of its nodes: a time line, the root causes,
/// where the time went, and what would have helped. Escapes whatever a terminal might interpret.
///
/// A pure function. Times are in UTC.
std::string explain(const std::vector<elastic::detail::journal_contents>& journals);

}  // namespace elasticrun
