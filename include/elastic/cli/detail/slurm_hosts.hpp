// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The hosts of a list as Slurm writes it, in its order: "login,rack[0-1]n[08-10,12]" is login,
/// rack0n08, rack0n09, …, rack1n12. Never empty.
///
/// Errors: `errc::invalid_argument`, a sentence without the list itself, for what is not such a
/// list, for a name over `limits::host_name_bytes`, and for more than `limits::nodes` hosts.
ELASTIC_DECL std::vector<std::string> parse_slurm_hosts(std::string_view list);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/slurm_hosts.ipp>
#endif
