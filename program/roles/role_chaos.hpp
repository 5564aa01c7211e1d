// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task_group.hpp>
#include <elastic/cli/chaos_plan.hpp>
#include <elastic/roles/role_extension.hpp>
#include <program/chaos/chaos_monkey.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace elasticrun {

/// Injects faults into the roles of a job. The fault plan of a role continues after a restart of
/// the job.
class role_chaos final : public elastic::role_extension {
 public:
  /// @param plans  indexed by role; an empty plan has no faults
  explicit role_chaos(std::vector<elastic::chaos_plan> plans);

  void begin(asio::any_io_executor executor, const elastic::agent_services& services,
             elastic::job_command::handler commands) override;
  void prepare(std::size_t role, elastic::agent_services& services) override;
  void begin_role(std::size_t role, worker_signal signal) override;
  void changed(state) override {}
  elastic::task<void> close() override;

 private:
  /// A role that gets faults. The signal reaches the agent that runs the role at present.
  struct victim {
    std::shared_ptr<chaos_monkey> monkey;
    worker_signal signal;
  };
  static elastic::task<void> disturb(std::shared_ptr<victim> whom);

  std::vector<elastic::chaos_plan> plans_;
  asio::any_io_executor executor_;
  std::vector<std::shared_ptr<victim>> victims_;
  std::unique_ptr<elastic::task_group> tasks_;
};

}  // namespace elasticrun
