// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/function_call.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace elastic::detail {

/// Why a value would not arrive as it is; none if it would.
ELASTIC_DECL std::optional<std::string> unsayable(const nlohmann::json& value, int depth = 1);

/// A value as it travels between agent and worker. `subject` names it in errors.
/// Errors: `errc::invalid_argument`, saying what is wrong with it.
ELASTIC_DECL std::string call_text(const nlohmann::json& value, std::size_t most,
                                   const std::string& subject);

/// The value that such a text stands for; the text may be anything.
/// Errors: `errc::protocol_violation`, saying what is wrong with it.
ELASTIC_DECL nlohmann::json call_value(std::string_view text, const std::string& subject);

/// The arguments of a call as a JSON array. Errors: `errc::invalid_argument`.
ELASTIC_DECL nlohmann::json arguments_of(const function_call& call);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/functions/detail/impl/call_value.ipp>
#endif
