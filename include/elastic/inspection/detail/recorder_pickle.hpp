// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Whose recorder it is.
struct recorder_owner {
  int rank = 0;
  int world_size = 1;
};

/// A flight recorder in the form in which PyTorch's analyser, `fr_trace`, opens it: the pickle of
/// what its JSON says. It has data alone, no code.
///
/// The analyser needs the members of each group. Gloo does not name them: those of the default
/// group are all ranks, and in any other group the rank is taken to be alone.
/// @param json        what the worker wrote, of up to `limits::recorder_bytes`
/// @param most_bytes  the length of the result at most
/// Errors: `errc::protocol_violation` if it is no JSON object, is nested too deep, has too many
/// groups, or has no room in the result.
ELASTIC_DECL std::string recorder_pickle(std::string_view json, const recorder_owner& owner,
                                         std::size_t most_bytes);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/detail/impl/recorder_pickle.ipp>
#endif
