// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/etcd/detail/legacy_state.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <chrono>
#include <optional>
#include <set>
#include <string>

namespace elastic::detail {

/// How long the data of torchrun's rendezvous "etcd" lives without a refresh.
struct legacy_ttl {
  /// A version that a node is making.
  static constexpr std::chrono::seconds setup{5};
  /// A version that has enough nodes but waits for more, and one that its nodes confirm.
  static constexpr std::chrono::seconds passing{10};
  /// The key of a node.
  static constexpr std::chrono::seconds lease{10};
  /// All stored data of a job.
  static constexpr std::chrono::seconds job{7200};
};

/// What a node remembers about its own steps: the state does not name it.
struct legacy_standing {
  /// The version that it has joined, and its rank there; empty: none.
  std::string version;
  int rank = -1;
  /// If this node completed the minimum: it ends the last call at `call_end`. Until then it shows
  /// that it lives, next at `next_refresh`.
  std::optional<time_point> call_end;
  time_point next_refresh{};
  /// The version whose end it waits for, how many nodes waited before it, and since when it waits.
  std::string waits_for;
  int waiting_before = 0;
  time_point waits_since{};
  /// The version that it has just left, and its rank there; empty: none.
  std::string former_version;
  int former_rank = -1;
};

/// The next step of a node on its way into a version.
enum class legacy_action {
  /// Takes its place in a complete version.
  placed,
  wait,
  /// Makes a new version.
  create,
  join,
  /// Shows that the last call continues.
  refresh_call,
  /// Ends the last call.
  freeze,
  confirm,
  /// Counts itself among the nodes that wait for the next version.
  announce,
  /// Removes the version, so that there can be another one.
  destroy,
  /// Gives up a version that continues without this node, or has ended.
  forget,
  refuse_closed,
  refuse_timeout,
};

/// A step and its reason, a clause for the log.
struct legacy_decision {
  legacy_action action = legacy_action::wait;
  const char* reason = "";
  /// With `wait`: the time at which waiting alone changes the decision.
  time_point until = time_point::max();
};

/// The next step of a node that wants to join a version.
/// @param state     empty if there is no version
/// @param living    the names of the nodes' keys, if the version is complete
/// @param deadline  when it gives up
/// Result: with `wait`, `until` is at most just after the deadline.
ELASTIC_DECL legacy_decision decide_legacy(const std::optional<legacy_state>& state,
                                           const legacy_standing& me,
                                           const rendezvous_settings& settings,
                                           const std::set<std::string>& living, time_point now,
                                           time_point deadline);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/impl/legacy_machine.ipp>
#endif
