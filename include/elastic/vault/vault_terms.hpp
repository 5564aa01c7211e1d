// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace elastic {

/// How much memory of a node keeps the commits of an agent's workers. One of the two is set, or
/// none: then there is no vault.
struct vault_terms {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  vault_terms() = default;

  /// In bytes.
  std::uint64_t limit_bytes = 0;
  /// In percent of the memory that this process can have: the limit of its cgroup (version 2), or
  /// else that of the machine. 1 to 100.
  int limit_percent = 0;

  bool is_set() const { return limit_bytes > 0 || limit_percent > 0; }
};

/// Checks vault_terms. Errors: `errc::invalid_argument` if not exactly one limit is set, or the
/// percentage is out of range.
ELASTIC_DECL void validate(const vault_terms& terms);

/// The limit in bytes. Reads a few small files for a percentage.
/// Errors: `errc::not_supported` if the memory of this machine is unknown.
ELASTIC_DECL std::uint64_t vault_limit(const vault_terms& terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/impl/vault_terms.ipp>
#endif
