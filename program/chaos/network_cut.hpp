// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace elasticrun {

/// Disconnects this process from the network for the lifetime of the object, as if its host's
/// network cables were pulled: all of its TCP connections and listening ports, and those that the
/// library opens meanwhile. No packet arrives or leaves, and neither side is notified. Data that is
/// sent waits in the kernel and goes out afterwards if both sides still have the connection.
/// Connections of the process to itself continue to work.
///
/// It needs no privileges: the kernel signs outgoing segments and requires a signature on incoming
/// ones (RFC 2385), so that each side's kernel drops the segments of the other. Several objects may
/// exist at a time; the last one restores the network.
///
/// Thread-safety: any thread.
class network_cut {
 public:
  /// Errors: `errc::not_supported` if the kernel has no such signatures; nothing is cut then.
  network_cut();
  ~network_cut();

  network_cut(const network_cut&) = delete;
  network_cut& operator=(const network_cut&) = delete;

  /// The number of connections and ports that it disconnected at first.
  std::size_t count() const { return count_; }

 private:
  std::size_t count_ = 0;
};

/// Disconnects a TCP socket if the process is disconnected. For a socket that is about to connect
/// or to listen, or that was just accepted.
void cut_new_socket(int fd);

}  // namespace elasticrun
