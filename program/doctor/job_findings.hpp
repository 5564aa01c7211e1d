// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <program/doctor/findings.hpp>
#include <program/doctor/node_report.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// The reports of all nodes of a job about themselves and the links between them.
struct job_view {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  job_view() = default;

  /// How many nodes were expected, and how long the nodes waited for them, in seconds.
  int expected = 1;
  double waited = 0;
  /// Indexed by rank.
  std::vector<node_report> nodes;
  std::vector<std::vector<link_report>> links;
};

/// The names of nodes in findings: with the rank, if several nodes have the same name.
std::vector<std::string> labels_of(const std::vector<node_report>& nodes);

/// Checks the nodes and the links between them. Result: the findings about the whole job in a fixed
/// order, then those about hosts, each with the nodes that reported it.
std::vector<finding> examine(const job_view& view);

/// The reports and findings as JSON: {"nodes": [{"rank": 0, "name": "node1", …}, …], "links":
/// [{"from": 0, "to": 1, …}, …], "problems": 0, "warnings": 1, "findings": […]}.
std::string job_json(const job_view& view, const std::vector<finding>& findings);

}  // namespace elasticrun
