// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// How values of options are read, whatever they are for.

#include <elastic/base/config.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/launch/detail/option_table.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// A whole number from `low` to `high`; empty for anything else.
ELASTIC_DECL std::optional<int> number_between(std::string_view text, int low, int high);

[[noreturn]] ELASTIC_DECL void refuse_value(const option_value& given, std::string_view allowed);

ELASTIC_DECL void read_number(const option_values& values, const char* name, int low, int high,
                              int& result);

ELASTIC_DECL std::chrono::milliseconds seconds_of(const option_value& given);

template <class Duration>
void read_seconds(const option_values& values, const char* name, Duration& result) {
  if (const auto given = values.find(name)) result = seconds_of(*given);
}

ELASTIC_DECL void read_text(const option_values& values, const char* name, std::string& result);

ELASTIC_DECL void read_streams(const option_values& values, const char* name,
                               stream_selection& result);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/option_readers.ipp>
#endif
