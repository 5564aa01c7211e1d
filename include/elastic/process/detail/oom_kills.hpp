// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::detail {

/// How many processes the kernel has killed because memory ran out: in the memory cgroup of this
/// process and those below it, or, if that does not tell, on the machine. Empty if neither
/// tells. One small file is read.
///
/// @param root  what stands before /proc and /sys
ELASTIC_DECL std::optional<std::uint64_t> count_oom_kills(const std::string& root = "");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/oom_kills.ipp>
#endif
