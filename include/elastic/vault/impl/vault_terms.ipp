// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/vault_terms.hpp>

#include <elastic/base/error.hpp>
#include <elastic/process/detail/memory_room.hpp>

#include <optional>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL void validate(const vault_terms& terms) {
  if ((terms.limit_bytes > 0) == (terms.limit_percent != 0)) {
    throw error(errc::invalid_argument,
                "the limit of the vault is a number of bytes or a percentage");
  }
  if (terms.limit_bytes > 0 || (terms.limit_percent >= 1 && terms.limit_percent <= 100)) return;
  throw error(errc::invalid_argument, fmt::format("the limit of the vault is {} %; 1 to 100 are "
                                                  "allowed",
                                                  terms.limit_percent));
}

ELASTIC_DECL std::uint64_t vault_limit(const vault_terms& terms) {
  if (terms.limit_bytes > 0) return terms.limit_bytes;
  const std::optional<std::uint64_t> whole = detail::whole_memory();
  if (!whole) {
    throw error(errc::not_supported,
                "the limit of the vault cannot be a percentage: the memory of this machine is "
                "unknown");
  }
  constexpr std::uint64_t percent = 100;
  return *whole / percent * static_cast<std::uint64_t>(terms.limit_percent);
}

}  // namespace elastic
