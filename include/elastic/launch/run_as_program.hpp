// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs that run jobs, not for programs that embed one.

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/launch/program_options.hpp>

#include <memory>
#include <vector>

namespace elastic {

namespace detail {
struct program_plan;
}  // namespace detail

/// A run of an agent as a program's job, in two steps: it completes the services for the agent, and
/// then runs the agent. Use it in launchers that add their own services in between, or run tasks
/// beside the agent; otherwise call `run_as_program`.
///
///     const program_run program(config, options, services);
///     const std::shared_ptr<local_agent> agent = make_agent(config, program.services());
///     const run_result result = co_await program.run(agent);
///
/// It opens nothing before `run`. Thread-safety: one thread at a time.
class program_run {
 public:
  /// Errors: those of `program_options::complete`; `errc::invalid_argument` for a signal_plan that
  /// `validate` refuses, a token file without an address, and a trace or a status address without
  /// `add_status`.
  ELASTIC_DECL program_run(named<launch_config> config, named<program_options> options,
                           named<agent_services> services);

  /// The services for the agent: those given to the constructor, as `program_options::complete`
  /// left them.
  ELASTIC_DECL const agent_services& services() const;

  /// Runs an agent that was made from `services` to its end. The signals of the launch_config stop
  /// it or are passed on to its workers, as in `run_with_signals`; the drain file stops it as
  /// SIGTERM does, and marks the node as bad. When the agent has ended, the former signal handling
  /// is restored.
  ///
  /// The program_run may be destroyed before the task has ended.
  /// @param companions  tasks that run beside the agent. When it has ended, they are cancelled with
  ///                    type terminal. A task that ends before the agent stops the job, as if the
  ///                    caller had cancelled it; its error is thrown
  /// Result: that of `local_agent::run`.
  /// Errors: those of `local_agent::run`; `errc::invalid_argument` at once if `agent` is null.
  /// Before a worker starts: `errc::file_access` if the directory of the drain file does not exist.
  /// Cancellation: as for `local_agent::run`, since every request is passed to the agent.
  ELASTIC_DECL task<run_result> run(std::shared_ptr<local_agent> agent,
                                    std::vector<task<void>> companions = {}) const;

 private:
  std::shared_ptr<const detail::program_plan> plan_;
};

/// Makes the agent that a configuration describes, and runs it as a program does: with signals and
/// a drain file, as in `program_run::run`.
///
/// Result, cancellation: those of `program_run::run`.
/// Errors: those of `program_run::run`. The call itself throws those of the constructor of
/// program_run and of `make_agent`, before anything is awaited.
ELASTIC_DECL task<run_result> run_as_program(named<launch_config> config,
                                             named<program_options> options);
ELASTIC_DECL task<run_result> run_as_program(named<launch_config> config,
                                             named<program_options> options,
                                             named<agent_services> services);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/impl/run_as_program.ipp>
#endif
