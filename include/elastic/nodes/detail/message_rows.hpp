// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Rows that the messages of nodes and those between candidates share.

#include <elastic/base/config.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/nodes/detail/exclusion_list.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

inline constexpr std::array<std::string_view, 2> job_end_names{"succeeded", "failed"};

/// Numbers of 16 hexadecimal digits each; at most `most` of them.
ELASTIC_DECL void number_row(record_rows& rows, const char* name,
                             std::vector<std::uint64_t>& numbers, std::size_t most);

/// One such number.
ELASTIC_DECL void number_row(record_rows& rows, const char* name, std::uint64_t& number);

/// A line for each excluded node, if there is any: "MILLISECONDS NAME WHY".
ELASTIC_DECL void exclusion_row(record_rows& rows, std::vector<exclusion>& excluded);

/// The settings that limit how long a node may be silent or without a connection.
ELASTIC_DECL void patience_rows(record_rows& rows, rendezvous_settings& settings);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/message_rows.ipp>
#endif
