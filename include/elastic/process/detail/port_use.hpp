// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

namespace elastic::detail {

/// Whether a process has a TCP connection to a port of another.
enum class port_use { none, connecting, connected };

/// The inodes of sockets that lead to a port.
struct sockets_to_port {
  std::set<std::uint64_t> connected = {};
  std::set<std::uint64_t> connecting = {};
};

/// Parses the format of /proc/net/tcp and tcp6; skips other lines.
ELASTIC_DECL void find_sockets(std::string_view table, std::uint16_t port, sockets_to_port& found);

/// Looks at the connections of a process and its descendants. Takes milliseconds where the host has
/// many connections.
///
/// @param most_files  how many processes and descriptors are looked at
/// Result: empty if that was not enough, or if /proc does not show it.
ELASTIC_DECL std::optional<port_use> look_at_port_use(pid_t root, std::uint16_t port,
                                                      std::size_t most_files);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/port_use.ipp>
#endif
