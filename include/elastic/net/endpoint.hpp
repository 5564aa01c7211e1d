// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_address.hpp>
#include <elastic/base/task.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic {

/// A host, by name or by address, and a port.
struct endpoint {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  endpoint() = default;
  endpoint(std::string name, std::uint16_t number) : host(std::move(name)), port(number) {}

  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// "host:port", with brackets around an IPv6 address.
ELASTIC_DECL std::string to_text(const endpoint& address);

namespace detail {

ELASTIC_DECL std::string_view trimmed(std::string_view text);

}  // namespace detail

/// Parses `host`, `host:port`, `[v6]` or `[v6]:port` like torchrun: removes surrounding whitespace,
/// splits at the last colon, and takes an empty text as localhost at the default port.
/// Errors: `errc::invalid_argument`, with a sentence that quotes the text and says what is allowed.
ELASTIC_DECL endpoint parse_endpoint(std::string_view text, std::uint16_t default_port);

namespace detail {

/// The addresses of `host`; empty if there are none. The resolver runs on a thread; a numeric
/// address needs none.
///
/// Cancellation: all types, at once; the resolver ends by itself.
ELASTIC_DECL task<std::vector<asio::ip::address>> resolve_addresses(std::string host);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/endpoint.ipp>
#endif
