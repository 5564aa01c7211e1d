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

/// Why JSON cannot represent a value exactly; empty if it can.
ELASTIC_DECL std::optional<std::string> unsayable(const nlohmann::json& value, int depth = 1);

/// The text of a value that agent and worker exchange. `subject` names the value in errors.
/// Errors: `errc::invalid_argument`, with the problem.
ELASTIC_DECL std::string call_text(const nlohmann::json& value, std::size_t most,
                                   const std::string& subject);

/// Parses the text of a value. The text is untrusted.
/// Errors: `errc::protocol_violation`, with the problem.
ELASTIC_DECL nlohmann::json call_value(std::string_view text, const std::string& subject);

/// The arguments of a call as a JSON array. Errors: `errc::invalid_argument`.
ELASTIC_DECL nlohmann::json arguments_of(const function_call& call);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/functions/detail/call_value.ipp>
#endif
