// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/net/endpoint.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Where the agents of a round connect to that of group rank 0, as it says where they meet.
struct link_offer {
  static constexpr std::size_t password_letters = 32;

  endpoint at;
  /// Hexadecimal. Only who can read the place where the nodes meet knows it.
  std::string password;

  friend bool operator==(const link_offer&, const link_offer&) = default;
};

/// "<password> <host>:<port>".
ELASTIC_DECL std::string to_text(const link_offer& offer);

/// Errors: `errc::protocol_violation`, quoting at most 100 bytes of the address.
ELASTIC_DECL link_offer parse_link_offer(std::string_view text);

/// A password that nobody can guess.
/// Errors: those of `new_node_number`.
ELASTIC_DECL std::string new_link_password();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/link_offer.ipp>
#endif
