// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/etcd/detail/legacy_state.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>

namespace elastic::detail {

/// The lifetimes of the data of torchrun's rendezvous "etcd" without a refresh.
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

/// The steps that a node has taken. It has to remember them, since the state does not name nodes.
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

inline legacy_decision decide_in_joinable(const legacy_state& state, const legacy_standing& me,
                                          const rendezvous_settings& settings, time_point now) {
  if (me.version.empty()) {
    if (state.participants < settings.max_nodes) return {legacy_action::join, "there is room"};
    return {legacy_action::wait, "the version is full"};
  }
  if (!me.call_end) return {legacy_action::wait, "waiting for more nodes, or the last call"};
  if (now >= *me.call_end) return {legacy_action::freeze, "the last call is over"};
  if (now >= me.next_refresh) return {legacy_action::refresh_call, "the last call goes on"};
  return {legacy_action::wait, "this node waits out the last call",
          std::min(*me.call_end, me.next_refresh)};
}

// The nodes that wait for the end of a complete version end it if it has lost a node, even if that
// node is the one that waits. But nodes of torchrun check only every few seconds whether somebody
// waits, and see that only while the version exists; a node that missed it would continue alone. So
// they get time for that, unless all of them are known to wait.
inline legacy_decision decide_in_foreign(const legacy_state& state, const legacy_standing& me,
                                         const rendezvous_settings& settings,
                                         const std::set<std::string>& living, time_point now) {
  const bool was_mine = me.former_version == state.version;
  int others = 0;
  for (int rank = 0; rank < state.participants; ++rank) {
    const bool is_own = was_mine && rank == me.former_rank;
    if (!is_own && living.count(legacy_lease_name(rank)) != 0) ++others;
  }
  const bool is_whole = !was_mine && others == state.participants;
  if (me.waits_for != state.version) {
    // A node that counts itself stops the workers of all nodes, which is useless if no slot is
    // free.
    if (is_whole && state.participants >= settings.max_nodes) {
      return {legacy_action::wait, "the version is full, and waits for nobody"};
    }
    return {legacy_action::announce, "a version is complete: waiting for the next"};
  }
  if (is_whole) {
    return {legacy_action::wait, "waiting until the nodes of the version leave it"};
  }
  const bool all_wait = state.waiting > me.waiting_before + others;
  const time_point notice_end = me.waits_since + legacy_ttl::lease;
  if (all_wait) return {legacy_action::destroy, "its nodes are gone, or wait as well"};
  if (now >= notice_end) return {legacy_action::destroy, "its nodes had time to see who waits"};
  return {legacy_action::wait, "its nodes have time to see that this one waits", notice_end};
}

inline legacy_decision decide_by_state(const legacy_state& state, const legacy_standing& me,
                                       const rendezvous_settings& settings,
                                       const std::set<std::string>& living, time_point now) {
  switch (state.status) {
    case legacy_status::joinable: return decide_in_joinable(state, me, settings, now);
    case legacy_status::frozen:
      if (me.version.empty()) return {legacy_action::wait, "the version is not open any more"};
      if (has_confirmed(state, me.rank)) return {legacy_action::wait, "the others confirm"};
      return {legacy_action::confirm, "all nodes are there"};
    case legacy_status::complete: return decide_in_foreign(state, me, settings, living, now);
    default: return {legacy_action::wait, "a node makes a new version"};
  }
}

/// The next step of a node that wants to join a version.
/// @param state     empty if there is no version
/// @param living    the names of the nodes' keys, if the version is complete
/// @param deadline  when it gives up
/// Result: with `wait`, `until` is at most just after the deadline.
inline legacy_decision decide_legacy(const std::optional<legacy_state>& state,
                                     const legacy_standing& me, const rendezvous_settings& settings,
                                     const std::set<std::string>& living, time_point now,
                                     time_point deadline) {
  if (state && state->status == legacy_status::closed) {
    return {legacy_action::refuse_closed, "the rendezvous is closed"};
  }
  const bool is_in = !me.version.empty();
  const bool is_there = state && state->version == me.version && me.rank < state->participants;
  if (is_in && !is_there) return {legacy_action::forget, "the version has ended"};
  if (is_in && state->status == legacy_status::complete) {
    if (has_confirmed(*state, me.rank)) return {legacy_action::placed, "the version is complete"};
    return {legacy_action::forget, "the version is complete without this node"};
  }
  if (now > deadline) return {legacy_action::refuse_timeout, "the join timeout is over"};
  if (!state) return {legacy_action::create, "there is no version"};
  legacy_decision next = decide_by_state(*state, me, settings, living, now);
  const time_point give_up = deadline + std::chrono::milliseconds(1);
  next.until = std::min(next.until, give_up);
  return next;
}

}  // namespace elastic::detail
