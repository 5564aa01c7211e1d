// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>

namespace elastic::detail {

/// The first `most` bytes of a file in /proc, whose size nobody knows before it is read; empty if
/// it is gone or this user may not read it.
ELASTIC_DECL std::string read_proc_file(const std::string& path, std::size_t most);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/proc_file.ipp>
#endif
