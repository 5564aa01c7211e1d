// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/roles/role.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace elasticrun {

/// `--trace` for a job of several roles: one file, in which each role appears as a process.
class role_trace {
 public:
  role_trace(std::vector<elastic::role> roles, std::string path, elastic::logger log);
  ~role_trace();

  /// Adds the trace to the journal of a role.
  void complete(std::size_t role, elastic::agent_services& services);
  elastic::task<void> close();

 private:
  class shared_file;
  class sink;

  std::vector<elastic::role> roles_;
  std::shared_ptr<shared_file> file_;
};

}  // namespace elasticrun
