// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/cli/program_config.hpp>
#include <program/chaos/chaos_monkey.hpp>
#include <program/code_release.hpp>
#include <program/output/merged_output.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

namespace elasticrun {

/// The services of elasticrun's agents, without those that the options of a job or a role add.
elastic::agent_services make_services(const asio::any_io_executor& executor,
                                      const elastic::logger& log);

/// The features that elasticrun's options add to the agent of a job, or to the agent of each of its
/// roles.
///
/// Thread-safety: that of agent_part.
class job_features {
 public:
  /// @param executor  the only thread of the agents
  explicit job_features(asio::any_io_executor executor);

  /// Completes the services of an agent that is about to run.
  /// @param role  the index of the role: its faults continue when the job restarts
  void complete(const elastic::program_config& config, std::size_t role,
                elastic::agent_services& services);

  /// Shows the last lines. When it returns, nothing of the features runs. Errors: the first one of
  /// a feature.
  elastic::task<void> close();

 private:
  void merge_output(const elastic::program_config& config, elastic::agent_services& services);
  void add_faults(const elastic::program_config& config, std::size_t role,
                  elastic::agent_services& services);
  elastic::task<void> finish_consoles();

  asio::any_io_executor executor_;
  std::shared_ptr<elastic::time_source> time_ = std::make_shared<elastic::system_time>();
  std::shared_ptr<code_release> code_release_ = std::make_shared<code_release>(time_);
  /// The monkeys by role. Roles without faults have none.
  std::map<std::size_t, std::shared_ptr<chaos_monkey>> monkeys_;
  /// The consoles of all agents: those of earlier ones may still have lines to show.
  std::vector<std::shared_ptr<merged_output>> consoles_;
  elastic::task_group tasks_;
};

}  // namespace elasticrun
