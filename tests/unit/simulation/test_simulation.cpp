// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs whose nodes meet in elasticrun's own way. Agents, links and the server's coordinator are
// real; the network between them is simulated.
//
//   ELASTIC_SIMULATION_SEEDS=10000 ELASTIC_SIMULATION_FIRST=1 unit_tests "simulation: *"

#include <support/catch.hpp>
#include <support/simulated_native_job.hpp>
#include <support/simulation_seeds.hpp>

namespace simulation_tests {

TEST_CASE("simulation: whatever happens to nodes and network, the job stays whole",
          "[simulation]") {
  elastic::test::run_seeds<elastic::test::simulated_native_job>("simulation: whatever*");
}

}  // namespace simulation_tests
