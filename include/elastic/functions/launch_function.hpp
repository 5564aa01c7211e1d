// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/functions/detail/own_functions.hpp>
#include <elastic/functions/entrypoint.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/launcher.hpp>

#include <type_traits>
#include <utility>

namespace elastic {

/// Runs a function in workers, `co_await launch(config, train, 3, "x")`: in processes of this
/// program, or of `config.workers.program` if that is set. It does the same as
/// `config.workers.function`, with arguments that the compiler checks.
///
/// Result: after success, `run_result::return_values` has the return value of each worker of this
/// node, by rank, and `value_of` converts it to a type. Exceptions of the function are in
/// `run_result::failures`, with their type and message. Errors, besides those of
/// `local_agent::run`, thrown by this call: those of `make_agent`; `errc::invalid_argument` if an
/// argument cannot be represented in JSON, or all of them together exceed
/// `limits::function_arguments_bytes`.
template <class Signature, class... Arguments>
  requires requires(const entrypoint<Signature>& function, Arguments&&... arguments) {
    function.call(std::forward<Arguments>(arguments)...);
  }
task<run_result> launch(named<launch_config> config, named<agent_services> services,
                        const entrypoint<Signature>& function, Arguments&&... arguments) {
  // An argument whose type is deduced as a non-reference is a temporary.
  static_assert(
      (... && !(std::is_aggregate_v<Arguments> && !std::is_trivially_destructible_v<Arguments>)),
      "name an aggregate before it is an argument: g++ 12 destroys it twice");
  launch_config of_function = config;
  of_function.workers.function = function.call(std::forward<Arguments>(arguments)...);
  return detail::run_agent(make_agent(of_function, services));
}
template <class Signature, class... Arguments>
  requires requires(const entrypoint<Signature>& function, Arguments&&... arguments) {
    function.call(std::forward<Arguments>(arguments)...);
  }
task<run_result> launch(named<launch_config> config, const entrypoint<Signature>& function,
                        Arguments&&... arguments) {
  const agent_services none;
  return launch(config, none, function, std::forward<Arguments>(arguments)...);
}

}  // namespace elastic
