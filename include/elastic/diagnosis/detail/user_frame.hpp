// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/diagnosis/detail/stack_frame.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The innermost frame of the user's code, in a file that belongs neither to Python nor to an
/// installed package. If there is none, the innermost frame.
///
/// @param stack  innermost frame first
/// Result: null if there are no frames; valid as long as `stack` is.
ELASTIC_DECL const stack_frame* user_frame(const std::vector<stack_frame>& stack);

/// The frame in short: "data.py:88 read_shard".
ELASTIC_DECL std::string to_string(const stack_frame& frame);

/// The index of `user_frame`; 0 if there are no frames.
ELASTIC_DECL std::size_t user_frame_index(const std::vector<stack_frame>& stack);

/// The last `most` bytes of a text, without an incomplete character at their start.
ELASTIC_DECL std::string_view ending_of(std::string_view text, std::size_t most);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/user_frame.ipp>
#endif
