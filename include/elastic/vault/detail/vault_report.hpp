// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/vault/detail/vault_generation.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A commit of one rank in the vault of a node.
struct vault_commit {
  int rank = 0;
  int world_size = 1;
  vault_generation id;
  /// A worker of the node has found the generation damaged.
  bool is_damaged = false;

  friend bool operator==(const vault_commit&, const vault_commit&) = default;
};

/// A node's report about its vault to the other nodes, before workers start.
struct vault_report {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  vault_report() = default;

  std::string node;
  /// The rank of its first worker that is about to start, and the number of its workers.
  int base_rank = 0;
  int workers = 1;
  std::vector<vault_commit> commits = {};
  /// The newest generation that all ranks had, as far as the node knows; epoch 0: it knows none.
  vault_generation complete = {};
  /// The generation that was restored last, and how often without a later one since; 0: not yet.
  vault_generation restored = {};
  int restores = 0;

  friend bool operator==(const vault_report&, const vault_report&) = default;
};

ELASTIC_DECL std::string text_of(const vault_report& report);

/// Parses a report. Errors: `errc::protocol_violation`, naming the mistake.
ELASTIC_DECL vault_report parse_vault_report(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_report.ipp>
#endif
