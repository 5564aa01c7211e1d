// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// Reads the state from the text of `/proc/PID/stat` or of `/proc/PID/status`; `unknown` if it is
/// neither.
ELASTIC_DECL process_state parse_process_state(std::string_view text);

/// Reads the text of `/proc/PID/wchan`: the kernel function in which a thread waits, of at most
/// `limits::wait_channel_bytes`; empty if it does not wait, or the kernel hides it ("0").
ELASTIC_DECL std::string parse_wait_channel(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/process_texts.ipp>
#endif
