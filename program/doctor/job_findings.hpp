// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <program/doctor/findings.hpp>
#include <program/doctor/node_report.hpp>

#include <string>
#include <vector>

namespace elasticrun {

/// The nodes of a job, as they told about themselves and each other.
struct job_view {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  job_view() = default;

  /// How many nodes were to come, and how long those that came waited for them, in seconds.
  int expected = 1;
  double waited = 0;
  /// By rank.
  std::vector<node_report> nodes;
  std::vector<std::vector<link_report>> links;
};

/// What nodes are called: their names, with the rank if several have one name.
std::vector<std::string> labels_of(const std::vector<node_report>& nodes);

/// Judges the nodes and the ways between them. Result: what concerns the whole job in a fixed
/// order, then what the nodes found on their hosts, each with the nodes that found it.
std::vector<finding> examine(const job_view& view);

/// For programs: {"nodes": [{"rank": 0, "name": "node1", …}, …], "links": [{"from": 0, "to": 1, …},
/// …], "problems": 0, "warnings": 1, "findings": […]}.
std::string job_json(const job_view& view, const std::vector<finding>& findings);

}  // namespace elasticrun
