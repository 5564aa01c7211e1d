// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/group_position.hpp>

#include <string_view>
#include <vector>

namespace elastic::detail {

/// Reads how far a rank is from the JSON of PyTorch's flight recorder (`fr_trace_json` of gloo,
/// `dump_nccl_trace_json`; versions 2.x of the format). The text is a worker's own: it is not kept
/// as a tree, and may be neither large nor deep.
///
/// What has ended is judged by the entries: PyTorch's own count of it may lag behind. It is asked
/// for groups without entries alone, which the recorder names for NCCL.
///
/// @param now  the worker's time of day when it wrote the text: ages count from it
/// Result: the groups of which something is known, the one used last first; at most
/// `limits::recorder_groups`.
/// Errors: `errc::protocol_violation` if the text is no such dump, or is above
/// `limits::recorder_dump_bytes`, `recorder_depth` or `recorder_entries`.
ELASTIC_DECL std::vector<group_position> parse_recorder_dump(std::string_view text, wall_time now);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/impl/recorder_dump.ipp>
#endif
