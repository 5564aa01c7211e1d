// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>
#include <elastic/torch/detail/torch_state.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// What a store holds if the rendezvous has no state yet, so that reading it never blocks.
inline constexpr std::string_view torch_no_state = "Y2FuaW1hZGFt";

/// The pickle of a state, as agents of PyTorch read it. Two equal states may have been written as
/// different pickles by others: compare states, not bytes.
///
/// Errors: `errc::invalid_argument` for a value that no state may have, which the message names,
/// and for a redundancy list in a dialect that has none.
ELASTIC_DECL std::string encode_torch_state(const torch_state& state, torch_dialect dialect);

/// Reads a state of any dialect. Nothing that the pickle names is executed or looked up; what no
/// agent writes is refused.
///
/// Errors: `errc::rendezvous_state`, saying what was found and where.
ELASTIC_DECL torch_state decode_torch_state(std::string_view pickle);

/// The state as the text that a store holds.
/// Errors: those of `encode_torch_state`.
ELASTIC_DECL std::string stored_text(const torch_state& state, torch_dialect dialect);

/// Reads what a store holds.
/// Result: none for `torch_no_state` and for an empty text.
/// Errors: `errc::rendezvous_state`.
ELASTIC_DECL std::optional<torch_state> parse_stored_text(std::string_view text);

ELASTIC_DECL std::string_view host_attribute(torch_dialect dialect);

// ---- reading ----------------------------------------------------------------------------------

// ---- writing ----------------------------------------------------------------------------------

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/torch_state_codec.ipp>
#endif
