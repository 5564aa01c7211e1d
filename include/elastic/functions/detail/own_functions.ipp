// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/functions/detail/own_functions.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/functions/detail/call_value.hpp>
#include <elastic/functions/entrypoint.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/process/detail/fork_launcher.hpp>
#include <elastic/process/guard_policy.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace elastic::detail {

inline std::string own_program() {
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) return path.string();
  throw error(errc::program_not_found,
              fmt::format("this program cannot be found by /proc/self/exe ({}): name it by "
                          "launch_config::workers.program",
                          failure.message()));
}

/// A launcher that forks this process. Each copy runs the function directly.
inline std::shared_ptr<process_launcher> make_fork_launcher(const launch_config& config,
                                                            const agent_services& services) {
  if (services.processes.guard.value_or(config.guard) == guard_policy::required) {
    throw error(errc::invalid_argument,
                "guard_policy::required excludes start_method::fork: forked workers "
                "have no guard");
  }
  if (services.launcher) {
    throw error(errc::invalid_argument,
                "start_method::fork is a launcher by itself: agent_services::launcher must be "
                "empty");
  }
  auto body = [] { return run_entrypoint().value_or(1); };
  return new_shared<fork_launcher>(body, services.log);
}

ELASTIC_DECL void run_own_function(const launch_config& config, worker_spec& workers,
                                   agent_services& services) {
  const function_call& call = *config.workers.function;
  const auto function = function_table::here().find(call.name);
  function->check(arguments_of(call));
  workers.program = own_program();
  if (config.start == launch_config::start_method::fork) {
    services.launcher = make_fork_launcher(config, services);
    return;
  }
  if (function_table::here().main_asks()) return;
  throw error(errc::invalid_argument,
              "the workers are this program again, whose main must begin with 'if (const auto code "
              "= elastic::run_entrypoint()) return *code;'");
}

}  // namespace elastic::detail
