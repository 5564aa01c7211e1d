// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/host_name.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <asio/ip/address.hpp>

namespace elastic {

/// A host, by name or by address, and a port.
struct endpoint {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// "host:port", with brackets around an IPv6 address.
ELASTIC_DECL std::string to_text(const endpoint& at);

namespace detail {

ELASTIC_DECL std::string_view trimmed(std::string_view text);

}  // namespace detail

/// Reads `host`, `host:port`, `[v6]` or `[v6]:port` as torchrun does: blanks around it are dropped,
/// the split is at the last colon, and an empty text means localhost at the default port.
///
/// Errors: `errc::invalid_argument`, with a sentence that quotes the text and says what is allowed.
ELASTIC_DECL endpoint parse_endpoint(std::string_view text, std::uint16_t default_port);

/// What a machine is called and how it is reached: what `is_this_machine` compares with.
struct machine_identity {
  std::string host_name;
  /// The canonical name that the resolver gives for `host_name`; empty if it gives none.
  std::string canonical_name;
  /// The addresses that the resolver gives for `host_name`.
  std::vector<asio::ip::address> addresses;
};

/// Whether `host` means this machine, as torchrun infers who hosts the store: "localhost", a
/// loopback address, the host name, its canonical name, or an address that both `host` and the
/// host name resolve to.
///
/// @param host_addresses  what `host` resolves to; empty if it does not.
ELASTIC_DECL bool is_this_machine(const std::string& host, const machine_identity& machine,
                                  const std::vector<asio::ip::address>& host_addresses);

namespace detail {

/// The addresses of `host`, and its canonical name if `canonical` is given. A failure to
/// resolve leaves both empty.
ELASTIC_DECL task<std::vector<asio::ip::address>> resolve_addresses(std::string host,
                                                                    std::string* canonical);

}  // namespace detail

/// Whether `host` means this machine (see the other overload); asks the resolver, which Asio runs
/// on a thread of its own.
///
/// Cancellation: all types, once the resolver has answered (it cannot be interrupted).
ELASTIC_DECL task<bool> is_this_machine(std::string host);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/endpoint.ipp>
#endif
