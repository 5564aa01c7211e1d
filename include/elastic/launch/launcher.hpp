// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace elastic {

template <class Signature>
class entrypoint;

/// Makes the agent that a configuration describes, for callers that want to `stop` it.
///
/// The guard, the guard's file, the event handler and the logs_specs are those of the configuration
/// if `services` has none. `backends` are the rendezvous backends to choose from.
/// Errors: `errc::invalid_argument` if a value is out of bounds, a name unknown, or a function
/// cannot take its arguments.
ELASTIC_DECL std::unique_ptr<local_agent> make_agent(named<launch_config> config);
ELASTIC_DECL std::unique_ptr<local_agent> make_agent(named<launch_config> config,
                                                     named<agent_services> services,
                                                     const rendezvous_registry& backends = {});

namespace detail {

ELASTIC_DECL task<run_result> run_agent(std::unique_ptr<local_agent> agent);

}  // namespace detail

/// Runs the workers that a configuration describes, on this node, to their end.
///
/// Result, errors and cancellation: those of `local_agent::run`; errors of `make_agent` are
/// thrown by this call, before anything is awaited.
ELASTIC_DECL task<run_result> launch(named<launch_config> config);
ELASTIC_DECL task<run_result> launch(named<launch_config> config, named<agent_services> services);

/// Runs a function in workers, `co_await launch(config, train, 3, "x")`: in processes of this
/// program, or of `config.workers.program` if that is named. It is what `config.workers.function`
/// says, with arguments that the compiler checks.
///
/// Result: after success `run_result::return_values` has what the function returned in each worker
/// of this node, by rank, and `value_of` gives it as a type. What the function throws is in
/// `run_result::failures`, with its type and message.
/// Errors, besides those of `local_agent::run`, thrown by this call: those of `make_agent`;
/// `errc::invalid_argument` if an argument cannot be said in JSON, or all of them are over
/// `limits::function_arguments_bytes`.
template <class Signature, class... Arguments>
  requires requires(const entrypoint<Signature>& function, Arguments&&... arguments) {
    function.call(std::forward<Arguments>(arguments)...);
  }
task<run_result> launch(named<launch_config> config, named<agent_services> services,
                        const entrypoint<Signature>& function, Arguments&&... arguments) {
  // By reference: what is not one is a temporary.
  static_assert(
      (... && !(std::is_aggregate_v<Arguments> && !std::is_trivially_destructible_v<Arguments>)),
      "name an aggregate before it is an argument: g++ 12 destroys it twice");
  launch_config of_function = *config;
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

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/launcher.ipp>
#endif
