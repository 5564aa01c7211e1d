// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/journal_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

/// What is added to the clock of each journal, in microseconds, so that it fits that of the first;
/// empty of one that has no round in common with it, directly or by others: its clock is left as it
/// is.
///
/// The nodes of a round learn at the same time, but for the time of a message, that it is complete:
/// the median of the differences of these moments is taken, if that is no more than an hour.
std::vector<std::optional<std::int64_t>> clock_shifts(
    const std::vector<elastic::journal_contents>& journals);

/// The journals of several nodes as one Chrome trace, with clocks that fit; see `clock_shifts`.
/// A whole JSON object. Pure.
std::string merged_trace(const std::vector<elastic::journal_contents>& journals);

}  // namespace elasticrun
