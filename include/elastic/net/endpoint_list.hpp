// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/net/endpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace elastic {

/// Parses several endpoints, separated by commas, each like `parse_endpoint`; an endpoint without a
/// port gets the port of the first.
///
/// Errors: as `parse_endpoint`; for an empty or repeated entry, and for more than `most` entries.
ELASTIC_DECL std::vector<endpoint> parse_endpoints(std::string_view text,
                                                   std::uint16_t default_port, std::size_t most);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/endpoint_list.ipp>
#endif
