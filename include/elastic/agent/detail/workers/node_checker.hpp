// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/shell_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/process_launcher.hpp>

#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The outcome of a node check.
struct node_check_outcome {
  /// The reason why the command could not be started or killed; empty: there was no such problem.
  std::string problem;
  /// The exit status of the command; empty: it did not end in time.
  std::optional<exit_status> status;
  /// The end of its output, and whether there was more.
  std::string output;
  bool is_cut = false;
};

/// The problem of the node, in one sentence without line ends; empty: none.
ELASTIC_DECL std::optional<std::string> judge(const shell_command& check,
                                              const node_check_outcome& outcome);

/// The services that `look_at_node` uses.
struct node_check_services {
  std::shared_ptr<process_launcher> launcher;
  std::shared_ptr<time_source> time;
  logger log;
};

/// Runs the check of a node, and then kills the remaining processes of the check.
///
/// Result: the outcome. A failure of the command is not thrown as an error.
/// Cancellation: all types; throws `operation_aborted` once none of its processes is left.
ELASTIC_DECL task<node_check_outcome> look_at_node(asio::any_io_executor strand,
                                                   shell_command check,
                                                   environment_map environment,
                                                   std::string directory,
                                                   node_check_services services);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/node_checker.ipp>
#endif
