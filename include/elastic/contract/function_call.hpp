// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace elastic {

/// The variable with the name of the function that a worker runs.
inline constexpr const char* entrypoint_variable = "ELASTIC_ENTRYPOINT";

/// Which function every worker runs, and its arguments. `entrypoint::call` creates one with checked
/// arguments; create one by hand if only the names of a program's functions are known.
struct function_call {
  /// The name under which the worker's program has registered the function.
  std::string name = {};
  /// The text of a JSON array: the arguments in order.
  std::string arguments = "[]";
};

namespace detail {

/// Checks the text of a value that agent and worker exchange. The text is untrusted.
/// Errors: `errc::protocol_violation`, with the problem; `subject` names the value.
ELASTIC_DECL void check_call_text(std::string_view text, const std::string& subject);

/// The name of a function's list of arguments in error messages.
ELASTIC_DECL std::string arguments_name(const std::string& function);

/// Checks that the arguments of a call are a JSON array within the bounds.
/// Errors: `errc::invalid_argument`.
ELASTIC_DECL void check_arguments(const function_call& call);

}  // namespace detail

/// How many bytes of JSON each of `local_world_size` workers of a node may return.
ELASTIC_DECL std::size_t return_value_bound(int local_world_size);

/// Checks a call as far as possible without the program that has the function.
/// Errors: `errc::invalid_argument`, with what is allowed.
ELASTIC_DECL void validate(const function_call& call);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/impl/function_call.ipp>
#endif
