// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <program/doctor/findings.hpp>
#include <program/doctor/host_facts.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elasticrun {

/// The report of a node about itself for the other nodes.
struct node_report {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  node_report() = default;

  std::string name;
  /// The address and port of its link_server; the address is numeric, and the others can reach it.
  std::string address;
  std::uint16_t port = 0;
  /// The token with which a connection to the link_server begins: `limits::doctor_token_bytes`
  /// letters.
  std::string token;
  /// The versions of software; empty: not installed.
  std::string program;
  std::string kernel;
  std::string torch;
  std::string cuda;
  std::string nccl;
  std::string driver;
  int accelerators = 0;
  /// Its network cards, such as "eth0 25000 Mb/s".
  std::vector<std::string> cards;
  /// The findings about its host that are not ok.
  std::vector<finding> findings;
};

/// Makes a report about a host, without an address, a port and a token.
/// @param name  the name of the node
node_report report_of(const host_facts& facts, const std::string& name);

/// The report as JSON.
std::string text_of(const node_report& report);

/// Parses the report of another node. Makes its texts printable.
/// Errors: `errc::protocol_violation`.
node_report parse_node_report(std::string_view text);

/// A node's measurements of the link to another node.
struct link_report {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  link_report() = default;

  /// The rank of the other node.
  int peer = 0;
  /// The address of the other node; empty: it did not answer.
  std::string address;
  /// The interface of this node; empty: unknown.
  std::string interface;
  /// The reason why the other node did not answer.
  std::string failure;
  /// The round-trip time.
  std::int64_t latency_ns = 0;
  /// The rate of one TCP connection; 0: not measured.
  std::int64_t bytes_per_second = 0;
  /// The time by which the other node's clock is ahead of this node's.
  std::int64_t clock_ahead_ms = 0;
};

/// The reports about links as JSON.
std::string text_of(const std::vector<link_report>& links);

/// Parses the reports of another node about its links. Makes their texts printable, and omits those
/// about ranks that do not exist.
/// @param nodes  the number of nodes
/// Errors: `errc::protocol_violation`.
std::vector<link_report> parse_link_reports(std::string_view text, int nodes);

}  // namespace elasticrun
