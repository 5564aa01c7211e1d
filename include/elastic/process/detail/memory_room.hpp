// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace elastic::detail {

/// The bytes that processes can still take before memory runs out: of the machine, or of a memory
/// cgroup (version 2) above this process, whichever are fewer. Empty if neither is known. Reads a
/// few small files.
///
/// @param root  a prefix for /proc and /sys
ELASTIC_DECL std::optional<std::uint64_t> available_memory(const std::string& root = "");

/// The memory that processes can have in all: that of the machine, or the limit of a memory cgroup
/// (version 2) above this process, whichever is less. Empty if neither is known.
ELASTIC_DECL std::optional<std::uint64_t> whole_memory(const std::string& root = "");

/// The private memory of a process, in bytes. 0 if it cannot be read.
ELASTIC_DECL std::uint64_t memory_of(pid_t pid, const std::string& root = "");

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/memory_room.ipp>
#endif
