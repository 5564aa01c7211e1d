// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>

namespace elastic::detail {

/// Makes the FIFO for PyTorch's timers and opens it. One that lies there is replaced, as PyTorch's
/// agent does it, but never what is something else.
/// Errors: `errc::file_access`, naming the file.
ELASTIC_DECL int open_timer_fifo(const std::string& path);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/health/detail/impl/timer_fifo.ipp>
#endif
