// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/environment.hpp>

#include <string>

namespace elastic::detail {

/// The environment of a program that an agent starts: the agent's own, but without the path of the
/// job's secret, which only agents may read, and without the control channel and the roles that an
/// enclosing launcher has set. Each value reserves memory for its name, which is added to it when
/// it becomes an entry.
inline environment_map program_environment(const environment_map& own) {
  environment_map variables;
  for (const auto& [name, value] : own) {
    if (name == "ELASTIC_CONTROL" || name == "ELASTIC_JOB_SECRET_FILE" || name == "ELASTIC_ROLES") {
      continue;
    }
    std::string& copy = variables.emplace_hint(variables.end(), name, std::string())->second;
    copy.reserve(name.size() + 1 + value.size());
    copy = value;
  }
  return variables;
}

}  // namespace elastic::detail
