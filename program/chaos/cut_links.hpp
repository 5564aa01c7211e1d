// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace elasticrun {

/// Cuts this process off while the object lives, as if its host's cables were pulled: all of its
/// TCP connections and ports, and those it opens meanwhile. Nothing arrives, nothing leaves, and no
/// side is told. What is sent waits in the kernel and goes out afterwards, if both sides still have
/// the connection. Connections of the process to itself go on.
///
/// It takes no rights: the kernel signs what leaves, and expects a signature on what arrives
/// (RFC 2385), so that each side's kernel drops what the other one sends. Several may live at a
/// time. Thread-safety: any thread.
class links_cut {
 public:
  /// Errors: `errc::not_supported` if the kernel has no such signatures; nothing is cut then.
  links_cut();
  ~links_cut();

  links_cut(const links_cut&) = delete;
  links_cut& operator=(const links_cut&) = delete;

  /// How many connections and ports there were.
  std::size_t count() const { return count_; }

 private:
  std::size_t count_ = 0;
};

/// To be called for each TCP socket before it connects or listens, and once it was accepted: it is
/// cut off, too, if the process is.
void join_cut(int fd);

}  // namespace elasticrun
