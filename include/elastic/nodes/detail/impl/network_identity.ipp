// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/network_identity.hpp>

#include <sys/stat.h>

#include <fstream>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string network_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat network{};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0) return {};
  return fmt::format("{}-{}", boot, network.st_ino);
}

}  // namespace elastic::detail
