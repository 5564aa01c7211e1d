// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/listening_port.hpp>

#include <cstddef>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace elasticrun {

bool is_listened_at(int port) {
  for (const char* const path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream list(path);
    std::string line;
    const std::string end_of_address = fmt::format(":{:04X} ", port);
    while (std::getline(list, line)) {
      // "  0: 00000000:72D8 00000000:0000 0A …": the local address, the other one, the state.
      const std::size_t local = line.find(end_of_address);
      const std::size_t first_colon = line.find(": ");
      if (local == std::string::npos || first_colon == std::string::npos) continue;
      const bool is_local = line.find(' ', first_colon + 2) == local + end_of_address.size() - 1;
      if (is_local && line.find(" 0A ", local) != std::string::npos) return true;
    }
  }
  return false;
}

}  // namespace elasticrun
