// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The options of output, logs and events.

#include <elastic/base/config.hpp>
#include <elastic/launch/detail/option_table.hpp>
#include <elastic/launch/launch_config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A number of bytes: "4096", "500k", "100M", "2G".
ELASTIC_DECL std::optional<std::uint64_t> size_of(std::string_view text);

/// After the workers were counted.
ELASTIC_DECL void read_output(const option_values& values, launch_config& config,
                              std::vector<std::string>& warnings);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/output_options.ipp>
#endif
