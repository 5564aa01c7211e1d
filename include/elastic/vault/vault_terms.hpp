// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace elastic {

/// The memory of a node that an agent uses for the commits of its workers. Exactly one of the two
/// limits is set, or none if there is no vault.
struct vault_terms {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  vault_terms() = default;

  /// The limit in bytes.
  std::uint64_t limit_bytes = 0;
  /// The limit as a percentage, 1 to 100, of the memory that this process can have: the limit of
  /// its cgroup (version 2), or else the memory of the machine.
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
