// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string_view>

namespace elastic::detail {

/// Writes a line and its end to stderr, in one piece if the kernel allows it. A reader that reads
/// nothing for a second loses the rest of the line: telemetry must not block a job.
ELASTIC_DECL void write_stderr_line(std::string_view line);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/detail/impl/stderr_line.ipp>
#endif
