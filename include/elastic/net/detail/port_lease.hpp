// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace elastic::detail {

/// A port of this host at which a worker will listen. While the lease lives, no job in the network
/// namespace gets the port, whatever process runs it: a server may need seconds until it listens,
/// and until then any other job would find its port free.
///
/// What holds the port is a name in the abstract namespace of Unix sockets, "elastic_port_12345".
/// Such a name belongs to the network namespace, as ports do, and disappears with its process.
///
/// Thread-safety: one thread at a time; different leases any thread.
class port_lease {
 public:
  /// No port.
  port_lease() = default;

  /// Empty: another lease has the port.
  ELASTIC_DECL static std::optional<port_lease> of(std::uint16_t port);

  /// 0: none.
  std::uint16_t port() const { return port_; }

 private:
  port_lease(std::uint16_t port, unique_fd name) : port_(port), name_(std::move(name)) {}

  std::uint16_t port_ = 0;
  unique_fd name_;
};

/// A port that is free on all addresses of this host, chosen as `free_port` does.
/// Errors: `errc::connection_failed` if there is none. Thread-safety: any thread.
ELASTIC_DECL port_lease lease_port();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/port_lease.ipp>
#endif
