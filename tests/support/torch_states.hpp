// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/torch_state.hpp>

#include <chrono>
#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

namespace elastic::test {

/// "2024-03-05T06:07:08.123456", with or without "+00:00".
inline detail::torch_time time_of(const std::string& text) {
  const auto number = [&](std::size_t at, std::size_t size) {
    return std::stoi(text.substr(at, size));
  };
  const auto date = std::chrono::year(number(0, 4)) / number(5, 2) / number(8, 2);
  return std::chrono::sys_days(date) + std::chrono::hours(number(11, 2)) +
         std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2)) +
         std::chrono::microseconds(number(20, 6));
}

inline detail::node_id node_of(const nlohmann::json& parts) {
  return {parts.at(0), parts.at(1), parts.at(2)};
}

/// A state from its form in tests/vectors and tests/integration/python.
inline detail::torch_state state_of(const nlohmann::json& view) {
  detail::torch_state state;
  state.round = view.at("round");
  state.complete = view.at("complete");
  state.closed = view.at("closed");
  if (!view.at("deadline").is_null()) state.deadline = time_of(view.at("deadline"));
  for (const auto& each : view.at("participants")) {
    state.participants[node_of(each)] = each.at(3);
  }
  for (const auto& each : view.at("wait_list")) state.wait_list.insert(node_of(each));
  if (view.contains("redundancy_list")) {
    for (const auto& each : view.at("redundancy_list")) state.redundancy_list.insert(node_of(each));
  }
  for (const auto& each : view.at("last_heartbeats")) {
    state.last_heartbeats[node_of(each)] = time_of(each.at(3));
  }
  return state;
}

}  // namespace elastic::test
