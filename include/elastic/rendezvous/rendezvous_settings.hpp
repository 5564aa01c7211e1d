// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <chrono>

namespace elastic {

/// By which numbers nodes meet. All durations are over 0.
struct rendezvous_settings {
  /// 1 ≤ min_nodes ≤ max_nodes.
  int min_nodes = 1;
  int max_nodes = 1;
  /// How long a node waits for a round that it can be in.
  duration join_timeout = std::chrono::seconds(600);
  /// How long a round that has enough nodes waits for further ones, if it cannot know them.
  duration last_call_timeout = std::chrono::seconds(30);
  /// How often a node says that it is alive, and after how many that were missed it is lost.
  duration keep_alive_interval = std::chrono::seconds(5);
  int keep_alive_max_attempt = 3;
  /// How long a node whose connection broke has to come back before it is lost.
  duration reconnect_grace = std::chrono::milliseconds(300);

  /// How long a node may be silent.
  duration silence() const { return keep_alive_interval * keep_alive_max_attempt; }
};

}  // namespace elastic
