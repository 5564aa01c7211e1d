// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace elastic {

/// Set in a worker that is to run a function: the function's name.
inline constexpr const char* entrypoint_variable = "ELASTIC_ENTRYPOINT";

/// Which function every worker runs, and with what. `entrypoint::call` makes one whose arguments
/// fit; by hand for a program of which only the names are known.
struct function_call {
  /// The name under which the worker's program has registered the function.
  std::string name;
  /// The text of a JSON array: the arguments in order.
  std::string arguments = "[]";
};

namespace detail {

/// Why a value would not arrive as it is; none if it would. `what` names it.
ELASTIC_DECL std::optional<std::string> unsayable(const nlohmann::json& value, int depth = 1);

/// A value as it travels between agent and worker. `what` names it in errors.
/// Errors: `errc::invalid_argument`, saying what is wrong with it.
ELASTIC_DECL std::string call_text(const nlohmann::json& value, std::size_t most,
                                   const std::string& subject);

/// The value that such a text stands for; the text may be anything.
/// Errors: `errc::protocol_violation`, saying what is wrong with it.
ELASTIC_DECL nlohmann::json call_value(std::string_view text, const std::string& subject);

/// The list of arguments of a function, as errors name it.
ELASTIC_DECL std::string arguments_name(const std::string& function);

/// The arguments of a call as a JSON array. Errors: `errc::invalid_argument`.
ELASTIC_DECL nlohmann::json arguments_of(const function_call& call);

}  // namespace detail

/// How many bytes of JSON each of so many workers of a node may return.
ELASTIC_DECL std::size_t return_value_bound(int local_world_size);

/// Checks what can be said about a call without the program that has the function.
/// Errors: `errc::invalid_argument`, saying what is allowed.
ELASTIC_DECL void validate(const function_call& call);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/impl/function_call.ipp>
#endif
