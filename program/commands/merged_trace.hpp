// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/journal_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

/// The offsets, in microseconds, that align the clock of each journal with that of the first one.
/// Empty for a journal that has no round in common with the first one, directly or through others;
/// its clock is not adjusted.
///
/// The nodes of a round learn that it is complete at the same time, except for the delay of one
/// message. The offset is the median difference of these times, unless it is over an hour.
std::vector<std::optional<std::int64_t>> clock_offsets(
    const std::vector<elastic::detail::journal_contents>& journals);

/// Merges the journals of several nodes into one Chrome trace, with aligned clocks; see
/// `clock_offsets`. A pure function.
/// Result: a complete JSON object.
std::string merged_trace(const std::vector<elastic::detail::journal_contents>& journals);

}  // namespace elasticrun
