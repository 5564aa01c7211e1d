// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/net/detail/http_parser.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// Which clients may ask a status server.
struct status_gate {
  /// The names that "Host" may have besides IP addresses and "localhost", in lower case. Another
  /// site may let its name lead to this host; its pages must not read the answers.
  std::vector<std::string> hosts = {};
  /// Whether "Host" is looked at: not over a Unix socket, which no page reaches.
  bool checks_host = true;
  /// The secret that a client has to know; empty: none.
  std::string token = {};
  /// The name and the value of the cookie of a browser that has shown the token. The token cannot
  /// be found from the value, which is good for this server alone.
  std::string cookie = "elastic_status";
  std::string session = {};
};

/// The verdict on a request.
enum class admission {
  /// The request is answered.
  granted,
  /// The token is in the query: the browser gets the cookie, and asks again without it.
  granted_by_query,
  /// The request names another host.
  wrong_host,
  /// A page of another site sends it, and not because a user follows a link to the status page.
  cross_site,
  token_needed,
};

ELASTIC_DECL admission admission_of(const http_head& request, const status_gate& gate);

/// Whether a client that the gate has admitted may see what can hold secrets: the output of workers
/// and their arguments. Over a Unix socket the user of the job and root may, over TCP whoever has
/// shown a token; never everybody of a host.
/// @param client  the user of a client on a Unix socket; none: it has come over TCP
/// @param owner   the user of the job
ELASTIC_DECL bool may_see_secrets(const status_gate& gate, std::optional<std::uint32_t> client,
                                  std::uint32_t owner);

/// Compares two texts. If they are equally long, the time does not depend on where they differ.
ELASTIC_DECL bool is_same_secret(std::string_view left, std::string_view right);

/// The value of a parameter of a query, as it was sent; empty if there is none.
ELASTIC_DECL std::string_view query_value(std::string_view query, std::string_view name);

/// Whether a query names a parameter, with a value or without.
ELASTIC_DECL bool has_parameter(std::string_view query, std::string_view name);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/status_gate.ipp>
#endif
