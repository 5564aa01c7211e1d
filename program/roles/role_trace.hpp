// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/role.hpp>
#include <elastic/roles/role_extension.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace elasticrun {

/// `--trace` for a job of several roles: one file, in which each role appears as a process.
class role_trace final : public elastic::role_extension {
 public:
  role_trace(std::vector<elastic::role> roles, std::string path);
  ~role_trace() override;

  void begin(asio::any_io_executor executor, const elastic::agent_services& services,
             elastic::job_command::handler commands) override;
  void prepare(std::size_t role, elastic::agent_services& services) override;
  void changed(state) override {}
  elastic::task<void> close() override;

 private:
  class shared_file;
  class sink;

  std::vector<elastic::role> roles_;
  std::string path_;
  std::shared_ptr<shared_file> file_;
};

}  // namespace elasticrun
