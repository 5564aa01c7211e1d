// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/simulated_network.hpp>

namespace elastic::test {

/// A simulated network with the random source of its test.
struct keys_network final : testing::simulated_network {
  keys_network(testing::manual_clock& clock, detail::random_source& random)
      : simulated_network(clock, random) {}
};

}  // namespace elastic::test
