// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// How many processes the kernel has killed because memory ran out: in the memory cgroup of this
/// process and those below it or, if the cgroup has no such count, on the machine. Empty if neither
/// count exists. Reads one small file.
///
/// @param root  a prefix for /proc and /sys
ELASTIC_DECL std::optional<std::uint64_t> count_oom_kills(const std::string& root = "");

/// The path of this process in a hierarchy of `file`, a /proc/self/cgroup, which has lines such as
/// "0::/user.slice" and "4:memory:/jobs/7"; empty if it is in none.
ELASTIC_DECL std::string cgroup_path(const std::string& file, std::string_view controller);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/oom_kills.ipp>
#endif
