// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/cli/chaos_plan.hpp>
#include <program/chaos/chaos_monkey.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace elasticrun {

/// Injects faults into the roles of a job. The fault plan of a role continues after a restart of
/// the job.
class role_chaos {
 public:
  /// @param plans  indexed by role; an empty plan has no faults
  role_chaos(asio::any_io_executor executor, std::vector<elastic::chaos_plan> plans);

  /// Adds the faults to the agent that is about to run a role.
  void complete(std::size_t role, elastic::agent_services& services);
  elastic::task<void> close();

 private:
  asio::any_io_executor executor_;
  std::vector<elastic::chaos_plan> plans_;
  /// Indexed by role; null: the role has not started, or gets no faults.
  std::vector<std::shared_ptr<chaos_monkey>> monkeys_;
  elastic::task_group tasks_;
};

}  // namespace elasticrun
