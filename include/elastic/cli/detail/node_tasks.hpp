// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/cli/detail/given_options.hpp>
#include <elastic/cli/detail/option_type.hpp>
#include <elastic/cli/detail/slurm_step.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/cli/program_config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// What a scheduler's variables say of the tasks that it has started, of which this process is one.
struct node_tasks {
  /// Those of this node.
  program_config::slot_plan slots;
  /// Those of all nodes.
  int all = 1;
  /// This is the first task of all, which logs what is true of all.
  bool is_first = false;
  /// "Slurm's step", "mpirun".
  std::string starter;
  /// The tasks are on this node alone.
  bool is_one_node = false;
  /// Why these tasks cannot become one job; empty: they can.
  std::string obstacle = {};
};

/// Result: empty for a process that no scheduler has started, that is alone on its node, or that is
/// a worker of another agent; and in a heterogeneous job of Slurm.
/// Errors: `errc::invalid_argument` for a variable that says nothing sensible.
ELASTIC_DECL std::optional<node_tasks> find_node_tasks(const environment_map& environment);

/// The numbers of tasks on each node, in Slurm's form: "4(x2),3" is 4, 4, 3. Empty for another text
/// and for more than `limits::nodes` nodes.
ELASTIC_DECL std::vector<int> parse_tasks_per_node(std::string_view text);

/// Makes the tasks of this node one node of a job, whose workers they are; not with --standalone,
/// and only for a program that can (`facts::runs_slots`).
/// Result: sentences for the log.
/// Errors: `errc::invalid_argument` for options that contradict the tasks, and those of
/// `find_node_tasks`.
ELASTIC_DECL slurm_words adopt_node_tasks(given_options& options, const command_line::facts& facts,
                                          option_target& target);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/node_tasks.ipp>
#endif
