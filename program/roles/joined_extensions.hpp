// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/role_extension.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace elasticrun {

/// Several extensions of one job of roles, called in order and closed in reverse order.
class joined_extensions final : public elastic::role_extension {
 public:
  explicit joined_extensions(std::vector<std::shared_ptr<elastic::role_extension>> parts);

  /// Errors: those of the parts. After an error, `close` closes the parts that have begun.
  void begin(asio::any_io_executor executor, const elastic::agent_services& services,
             elastic::job_command::handler commands) override;
  void prepare(std::size_t role, elastic::agent_services& services) override;
  void begin_role(std::size_t role, worker_signal signal) override;
  void changed(state now) override;
  elastic::task<void> close() override;

 private:
  std::vector<std::shared_ptr<elastic::role_extension>> parts_;
};

}  // namespace elasticrun
