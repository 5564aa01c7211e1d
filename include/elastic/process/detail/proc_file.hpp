// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The first `most` bytes of a file whose size is unknown before it is read, such as one in /proc;
/// empty if it is gone or this user may not read it.
ELASTIC_DECL std::string read_proc_file(const std::string& path, std::size_t most);

/// The number after `label` in the first line that begins with it: 12 for "oom_kill " in the lines
/// "oom 3" and "oom_kill 12". Blanks between them are skipped. Empty if there is no such line, or
/// no number.
ELASTIC_DECL std::optional<std::uint64_t> number_after(std::string_view text,
                                                       std::string_view label);

/// The entries of a directory whose names are numbers, such as the processes in /proc; none if it
/// cannot be read.
ELASTIC_DECL std::vector<pid_t> numbered_entries(const std::string& path);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/proc_file.ipp>
#endif
