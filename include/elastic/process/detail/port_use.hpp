// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// Whether a process has a TCP connection to a port of another.
enum class port_use { none, connecting, connected };

/// The inodes of sockets whose peer has a given port, and of those that listen at it.
struct sockets_to_port {
  std::set<std::uint64_t> connected = {};
  std::set<std::uint64_t> connecting = {};
  std::set<std::uint64_t> listening = {};
  /// Whether the tables were read to their ends.
  bool is_whole = true;
};

/// Parses the format of /proc/net/tcp and tcp6; skips other lines.
ELASTIC_DECL void find_sockets(std::string_view table, std::uint16_t port, sockets_to_port& found);

/// Inspects the connections of a process and its descendants. Takes milliseconds on a host with
/// many connections.
///
/// @param most_files  the most processes and descriptors to inspect
/// Result: empty if `most_files` was not enough, if the host has more sockets than
/// `limits::socket_table_bytes` hold, or if /proc does not show them.
ELASTIC_DECL std::optional<port_use> look_at_port_use(pid_t root, std::uint16_t port,
                                                      std::size_t most_files);

/// Whether a socket of a process, or of one of its descendants, has data that its peer has not
/// received yet. Parameters and result: as above.
ELASTIC_DECL std::optional<bool> has_unsent_data(pid_t root, std::size_t most_files);

/// The peers, such as "10.0.0.9:29500", to which a process and its descendants make connections
/// that are not answered yet; none if that is not known. Parameters: as above.
ELASTIC_DECL std::vector<std::string> silent_peers(pid_t root, std::size_t most_files);

/// Whether any process listens at a port in the network of a process.
ELASTIC_DECL bool is_listened_at(pid_t pid, std::uint16_t port);

/// The listener at a port in the network of a process: its own name and pid, as in "redis-server
/// (pid 4711)", or "a process of another user" if /proc does not show it. Empty: there is none.
ELASTIC_DECL std::string listener_at(pid_t pid, std::uint16_t port);

/// Whether a process, or one of its descendants, listens at a port. Parameters and result: as
/// above.
ELASTIC_DECL std::optional<bool> listens_at(pid_t root, std::uint16_t port, std::size_t most_files);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/port_use.ipp>
#endif
