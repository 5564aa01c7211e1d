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

/// What a node tells the other nodes about itself.
struct node_report {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  node_report() = default;

  std::string name;
  /// Where its link_server listens: the numeric address by which the others know it.
  std::string address;
  std::uint16_t port = 0;
  /// What a connection to it begins with: `limits::doctor_token_bytes` letters.
  std::string token;
  /// Versions; empty: there is none.
  std::string program;
  std::string kernel;
  std::string torch;
  std::string cuda;
  std::string nccl;
  std::string driver;
  int accelerators = 0;
  /// Its network cards, such as "eth0 25000 Mb/s".
  std::vector<std::string> cards;
  /// What it has found on its host, apart from what is fine.
  std::vector<finding> findings;
};

/// The report about a host, without an address, a port and a token.
/// @param name  of the node
node_report report_of(const host_facts& facts, const std::string& name);

std::string text_of(const node_report& report);

/// Reads what another node told. Its texts can be shown at a terminal.
/// Errors: `errc::protocol_violation`.
node_report parse_node_report(std::string_view text);

/// What a node found out about the way to another one.
struct link_report {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  link_report() = default;

  /// The rank of the other node.
  int peer = 0;
  /// The address of the other node; empty: it did not answer.
  std::string address;
  /// The interface of this node; empty: unknown.
  std::string interface;
  /// Why it did not answer.
  std::string failure;
  /// There and back.
  std::int64_t latency_ns = 0;
  /// Of one TCP connection; 0: it was not measured.
  std::int64_t bytes_per_second = 0;
  /// How far the other clock is ahead of the own one.
  std::int64_t clock_ahead_ms = 0;
};

std::string text_of(const std::vector<link_report>& links);

/// Reads what another node told, as above.
/// @param nodes  how many nodes there are
std::vector<link_report> parse_link_reports(std::string_view text, int nodes);

}  // namespace elasticrun
