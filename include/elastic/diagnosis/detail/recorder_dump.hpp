// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/group_position.hpp>

#include <string_view>
#include <vector>

namespace elastic::detail {

/// Reads the positions of a rank from the JSON of PyTorch's flight recorder (`fr_trace_json` for
/// gloo, `dump_nccl_trace_json`; versions 2.x of the format). A worker wrote the text, so it is
/// untrusted: it is not stored as a tree, and its size and depth are limited.
///
/// The entries show which operations have ended: PyTorch's own count may lag behind. That count is
/// used only for groups without entries, which the recorder lists for NCCL.
///
/// @param now  the worker's time of day when it wrote the text, from which ages are computed
/// Result: the groups about which anything is known, the most recently used first; at most
/// `limits::recorder_groups`.
/// Errors: `errc::protocol_violation` if the text is not such a dump, or exceeds
/// `limits::recorder_dump_bytes`, `recorder_depth` or `recorder_entries`.
ELASTIC_DECL std::vector<group_position> parse_recorder_dump(std::string_view text, wall_time now);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/recorder_dump.ipp>
#endif
