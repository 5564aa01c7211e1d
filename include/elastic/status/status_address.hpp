// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/net/endpoint.hpp>

#include <string>
#include <string_view>

namespace elastic {

/// The address at which the status of a job is served: a TCP port or a Unix socket.
struct status_address {
  /// An IP address of this host and a port; 0: the system picks a port.
  endpoint tcp = {"127.0.0.1", 0};
  /// The path of a Unix socket; empty: TCP.
  std::string path = {};

  bool is_unix() const { return !path.empty(); }
  /// Whether only this host can reach it.
  ELASTIC_DECL bool is_local() const;

  friend bool operator==(const status_address&, const status_address&) = default;
};

/// Reads "8080" (for this host only), "0.0.0.0:8080", "[::1]:8080", "localhost:8080" or
/// "unix:/run/job.status".
/// Errors: `errc::invalid_argument`, one sentence that says what is allowed.
ELASTIC_DECL status_address parse_status_address(std::string_view text);

/// The text that `parse_status_address` reads.
ELASTIC_DECL std::string to_text(const status_address& address);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/status_address.ipp>
#endif
