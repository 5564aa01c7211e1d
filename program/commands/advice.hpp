// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <program/commands/run_story.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// What would have helped a run, by one rule.
struct advice_rule {
  /// As the documents name it.
  const char* name;
  /// One sentence with the numbers; empty: the rule does not apply.
  std::string (*apply)(const std::vector<run_story>& stories);
};

/// All rules, in the order in which they are told.
const std::vector<advice_rule>& advice_rules();

}  // namespace elasticrun
