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

/// How the check of a node went.
struct node_check_outcome {
  /// Why it could not be started, or not be ended; empty: it was.
  std::string problem;
  /// How it ended; none: not in time.
  std::optional<exit_status> status;
  /// The end of what it wrote, and whether it wrote more.
  std::string output;
  bool is_cut = false;
};

/// What is wrong with the node, one sentence without line ends; none: nothing.
ELASTIC_DECL std::optional<std::string> judge(const shell_command& check,
                                              const node_check_outcome& outcome);

/// What `look_at_node` works with.
struct node_check_services {
  std::shared_ptr<process_launcher> launcher;
  std::shared_ptr<time_source> time;
  logger log;
};

/// Runs the check of a node, and ends what is left of it.
///
/// Result: how it went; nothing is thrown for what the command does.
/// Cancellation: all types; throws `operation_aborted` when nothing of it is left.
ELASTIC_DECL task<node_check_outcome> look_at_node(asio::any_io_executor strand,
                                                   shell_command check,
                                                   environment_map environment,
                                                   std::string directory,
                                                   node_check_services services);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/node_checker.ipp>
#endif
