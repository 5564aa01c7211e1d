// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/json_object.hpp>
#include <program/doctor/host_facts.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// The result of one check of a host or a job.
struct finding {
  enum class level {
    ok,
    /// Some jobs may fail or be slow.
    warning,
    /// No job can run properly.
    problem,
  };

  level how = level::ok;
  /// The subject of the check: "open files".
  std::string subject;
  /// A clause without a full stop.
  std::string text;
  /// The advice; empty if no action is needed.
  std::string advice = {};
};

/// The card with its rate or state: "eth0 25000 Mb/s", "mlx5_0 (down)".
std::string text_of(const network_card& card);

/// Checks the facts about a host. Result: a finding for each subject, in a fixed order.
std::vector<finding> examine(const host_facts& facts);

/// The findings as readable text: a line for each, another one for its advice, and the totals.
/// Texts are made printable.
std::string findings_text(const std::vector<finding>& findings);

/// A finding as JSON: {"subject": "open files", "level": "warning", "text": "…", "advice": "…"}.
std::string finding_json(const finding& found);

/// Adds the findings and their totals: "problems": 0, "warnings": 1, "findings": […].
void add_findings(elastic::detail::json_object& document, const std::vector<finding>& findings);

/// The findings about a host as JSON, with "host": "node1".
std::string findings_json(const std::vector<finding>& findings, const std::string& host);

/// The exit code: 1 if there is a problem, otherwise 0.
int exit_code(const std::vector<finding>& findings);

}  // namespace elasticrun
