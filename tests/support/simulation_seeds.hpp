// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/sanitized.hpp>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace elastic::test {

inline std::uint64_t number_from(const char* variable, std::uint64_t fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

/// Fails if two runs of a seed differ: failures could then not be reproduced.
template <class Job>
void check_same_story(std::uint64_t seed, const Job& first) {
  asio::io_context context;
  manual_time time(context);
  Job again(time, seed);
  time.run(again.run());
  CHECK(again.notes() == first.notes());
}

/// Runs the simulation `Job`, which is made from a clock and a seed, with many seeds until one
/// fails. Then it prints the events and how to repeat the run. ELASTIC_SIMULATION_SEEDS is the
/// number of seeds (under a sanitizer a tenth of it), ELASTIC_SIMULATION_FIRST the first seed; by
/// default, it runs some seeds from a random one.
/// @param filter  names the test case
template <class Job>
void run_seeds(const std::string& filter) {
  const bool replays = std::getenv("ELASTIC_SIMULATION_FIRST") != nullptr;
  std::random_device device;
  const std::uint64_t first = number_from("ELASTIC_SIMULATION_FIRST", device());
  const std::uint64_t number = number_from("ELASTIC_SIMULATION_SEEDS", replays ? 1 : 200);
  const std::uint64_t seeds = is_sanitized && number > 1 ? (number + 9) / 10 : number;
  std::uint64_t met = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    asio::io_context context;
    manual_time time(context);
    Job job(time, seed);
    time.run(job.run());
    met += job.had_round() ? 1 : 0;
    if (seed == first) check_same_story<Job>(seed, job);
    if (job.complaints().empty()) continue;
    for (const std::string& line : job.notes()) UNSCOPED_INFO(line);
    FAIL_CHECK("seed " << seed << ": " << job.complaints().front()
                       << "\nReplay: ELASTIC_SIMULATION_FIRST=" << seed << " unit_tests \""
                       << filter << "\"");
    if (replays && seeds == 1) continue;
    break;
  }
  // If faults prevented most rounds, the simulation would prove nothing.
  CHECK(met * 2 > seeds);
}

}  // namespace elastic::test
