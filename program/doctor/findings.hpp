// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/json_object.hpp>
#include <program/doctor/host_facts.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// What a look at the host has found.
struct finding {
  enum class level {
    ok,
    /// Some jobs fail or are slow.
    warning,
    /// No job can run as it should.
    problem,
  };

  level how = level::ok;
  /// "open files".
  std::string subject;
  /// One sentence without its end.
  std::string text;
  /// What to do about it; empty if it is fine.
  std::string advice = {};
};

/// "eth0 25000 Mb/s", "mlx5_0 (down)".
std::string text_of(const network_card& card);

/// Judges the facts. Result: a finding for each subject, in a fixed order.
std::vector<finding> examine(const host_facts& facts);

/// For people: a line for each finding, one with what to do, and a line that counts them.
std::string findings_text(const std::vector<finding>& findings);

/// {"subject": "open files", "level": "warning", "text": "…", "advice": "…"}.
std::string finding_json(const finding& found);

/// Adds {"problems": 0, "warnings": 1, "findings": […]}.
void add_findings(elastic::detail::json_object& document, const std::vector<finding>& findings);

/// For programs: {"host": "node1"} and these.
std::string findings_json(const std::vector<finding>& findings, const std::string& host);

/// 1 if there is a problem, otherwise 0.
int exit_code(const std::vector<finding>& findings);

}  // namespace elasticrun
