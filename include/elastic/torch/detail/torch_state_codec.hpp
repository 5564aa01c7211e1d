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

/// The stored text of a rendezvous that has no state yet, so that reading it never blocks.
inline constexpr std::string_view torch_no_state = "Y2FuaW1hZGFt";

/// The pickle of a state in the form that PyTorch's agents read. Others may have written equal
/// states as different pickles: compare states, not bytes.
///
/// Errors: `errc::invalid_argument` for a value that no state may have, which the message names,
/// and for a redundancy list in a dialect without one.
ELASTIC_DECL std::string encode_torch_state(const torch_state& state, torch_dialect dialect);

/// Parses a state in any dialect. Nothing that the pickle names is executed or looked up; anything
/// that no agent writes is refused.
///
/// Errors: `errc::rendezvous_state`, saying what was found and where.
ELASTIC_DECL torch_state decode_torch_state(std::string_view pickle);

/// The state as the text in a store.
/// Errors: those of `encode_torch_state`.
ELASTIC_DECL std::string stored_text(const torch_state& state, torch_dialect dialect);

/// Parses the text in a store.
/// Result: empty for `torch_no_state` and for an empty text.
/// Errors: `errc::rendezvous_state`.
ELASTIC_DECL std::optional<torch_state> parse_stored_text(std::string_view text);

ELASTIC_DECL std::string_view host_attribute(torch_dialect dialect);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/torch_state_codec.ipp>
#endif
