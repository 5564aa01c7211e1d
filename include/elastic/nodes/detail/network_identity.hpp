// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <string>

#include <fmt/format.h>

namespace elastic::detail {

/// Identifies the network to which the ports of this process belong, including the host and its
/// boot: of two processes with the same identity, only one can have a given port. Addresses cannot
/// identify a network, because they move between hosts and are translated on the way.
/// Result: empty if the system does not show it. Thread-safety: any thread.
inline std::string network_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network{};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0) return {};
  return fmt::format("{}-{}", boot, network.st_ino);
}

}  // namespace elastic::detail
