// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>

namespace elastic::detail {

/// A port from 10,000 to 19,999, below `first_of_kernel`: the first of those that the kernel gives
/// to connections. None if fewer than 1,000 lie there.
inline std::optional<std::uint16_t> port_below(int first_of_kernel, random_source& random) {
  constexpr int first = 10'000;
  constexpr int fewest = 1000;
  constexpr int most = 10'000;
  const int count = std::min(first_of_kernel - first, most);
  if (count < fewest) return std::nullopt;
  const auto chosen = static_cast<int>(random.below(static_cast<std::uint64_t>(count)));
  return static_cast<std::uint16_t>(first + chosen);
}

/// From `net.ipv4.ip_local_port_range`; 0 if that cannot be read.
inline int first_port_of_kernel() {
  int first = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return first;
}

}  // namespace elastic::detail
