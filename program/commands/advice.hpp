// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <program/commands/journal_run.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// A rule that recognises a problem of a run and gives advice.
struct advice_rule {
  /// Its name in the documents.
  const char* name;
  /// One sentence with figures; empty if the rule does not apply.
  std::string (*apply)(const std::vector<journal_run>& runs);
};

/// All rules, in the order in which their advice is shown.
const std::vector<advice_rule>& advice_rules();

}  // namespace elasticrun
