// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace elastic::detail {

/// The rank to which a recorder belongs.
struct recorder_owner {
  int rank = 0;
  int world_size = 1;
};

/// Converts a flight recorder from JSON to the pickle that PyTorch's analyser, `fr_trace`, reads.
/// The pickle contains only data, no code.
///
/// The analyser needs the members of each group, which gloo does not record. The default group gets
/// all ranks; any other group gets only this rank.
/// @param json        the worker's text, of at most `limits::recorder_bytes`
/// @param most_bytes  the largest size of the result
/// Errors: `errc::protocol_violation` if the text is not a JSON object, is nested too deeply or has
/// too many groups, or if the result would be too large.
ELASTIC_DECL std::string recorder_pickle(std::string_view json, const recorder_owner& owner,
                                         std::size_t most_bytes);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/recorder_pickle.ipp>
#endif
