// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/process_texts.hpp>
#include <elastic/diagnosis/detail/rank_evidence.hpp>
#include <elastic/diagnosis/detail/recorder_dump.hpp>
#include <elastic/diagnosis/detail/thread_stack.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

// The evidence of ranks in real stalled jobs: tests/vectors/hangs.
namespace elastic::test {

inline nlohmann::json read_hang(const std::string& fault) {
  std::ifstream file(std::string(ELASTIC_SOURCE_DIR) + "/tests/vectors/hangs/" + fault + ".json");
  REQUIRE(file);
  return nlohmann::json::parse(file);
}

/// The processor time of a process, in ticks of 10 ms.
inline double ticks_of(const std::string& stat) {
  std::istringstream fields(stat.substr(stat.rfind(") ") + 2));
  std::string field;
  double ticks = 0;
  for (int index = 3; index <= 15 && fields >> field; ++index) {
    if (index >= 14) ticks += std::stod(field);
  }
  return ticks;
}

/// The evidence that an agent makes of what a worker shows at two looks a second apart.
inline detail::rank_evidence evidence_of(int rank, const nlohmann::json& looks, wall_time now) {
  const nlohmann::json& first = looks["first"];
  const nlohmann::json& second = looks["second"];
  detail::rank_evidence evidence;
  evidence.rank = rank;
  evidence.local_rank = rank;
  evidence.node = "node";
  evidence.recorder = detail::recorder_state::silent;
  if (second["recorder"].is_string()) {
    evidence.recorder = detail::recorder_state::answered;
    evidence.groups = detail::parse_recorder_dump(second["recorder"].get<std::string>(), now);
  }
  if (second["traceback"].is_string()) {
    evidence.stack = detail::parse_main_stack(second["traceback"].get<std::string>());
    evidence.stack_moved =
        evidence.stack != detail::parse_main_stack(first["traceback"].get<std::string>());
  }
  const std::string stat = second["stat"].get<std::string>();
  evidence.state = detail::parse_process_state(stat);
  evidence.wait_channel = detail::parse_wait_channel(second["wchan"].get<std::string>());
  evidence.processor_share = (ticks_of(stat) - ticks_of(first["stat"].get<std::string>())) / 100;
  return evidence;
}

inline std::vector<detail::rank_evidence> evidence_of(const std::string& fault) {
  const nlohmann::json hang = read_hang(fault);
  const wall_time now{std::chrono::duration_cast<wall_time::duration>(
      std::chrono::nanoseconds(hang["time_ns"].get<std::int64_t>()))};
  std::vector<detail::rank_evidence> evidence;
  for (const nlohmann::json& looks : hang["ranks"]) {
    evidence.push_back(evidence_of(static_cast<int>(evidence.size()), looks, now));
  }
  return evidence;
}

}  // namespace elastic::test
