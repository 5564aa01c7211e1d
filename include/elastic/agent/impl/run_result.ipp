// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL const std::string& run_result::return_value_of(int rank) const {
  const auto position = return_values.find(rank);
  if (position != return_values.end()) return position->second;
  const std::string ranks = return_values.empty()
                                ? "since no function ran or the job did not succeed"
                                : fmt::format("of ranks {} to {}", return_values.begin()->first,
                                              return_values.rbegin()->first);
  throw error(errc::invalid_argument,
              fmt::format("there is no return value of rank {}: there are {} of this node, {}",
                          rank, return_values.size(), ranks));
}

}  // namespace elastic
