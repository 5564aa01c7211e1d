// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/observe/detail/run_story.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// What would have helped a run, by one rule.
struct advice_rule {
  /// As the documents name it.
  const char* name;
  /// One sentence with the numbers; empty: the rule does not apply.
  std::string (*apply)(const std::vector<run_story>& stories);
};

/// All rules, in the order in which they are told.
ELASTIC_DECL const std::vector<advice_rule>& advice_rules();

/// "41 s", "3 min 5 s", "2 h 10 min", "0.25 s".
ELASTIC_DECL std::string span_words(double seconds);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/observe/detail/impl/advice.ipp>
#endif
