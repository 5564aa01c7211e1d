// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>

namespace elastic::detail {

/// Creates the FIFO for PyTorch's timers and opens it. Like PyTorch's agent, it replaces an
/// existing FIFO, but no other kind of file.
/// Errors: `errc::file_access`; the message names the file.
ELASTIC_DECL int open_timer_fifo(const std::string& path);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/control/detail/timer_fifo.ipp>
#endif
