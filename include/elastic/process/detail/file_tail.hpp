// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// The last lines of a file, as many as a report shows; empty if it cannot be read.
ELASTIC_DECL std::vector<std::string> read_file_tail(const std::string& path);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/file_tail.ipp>
#endif
