// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/environment.hpp>

namespace elastic::detail {

/// The environment of a program that an agent starts: the agent's own, but without the path of the
/// job's secret, which only agents may read, and without the control channel and the roles that an
/// enclosing launcher has set.
inline environment_map program_environment(environment_map variables) {
  for (const char* name : {"ELASTIC_CONTROL", "ELASTIC_JOB_SECRET_FILE", "ELASTIC_ROLES"}) {
    variables.erase(name);
  }
  return variables;
}

}  // namespace elastic::detail
