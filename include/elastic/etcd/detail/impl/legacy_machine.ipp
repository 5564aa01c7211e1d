// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/legacy_machine.hpp>

#include <algorithm>

namespace elastic::detail {

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

ELASTIC_DECL legacy_decision decide_legacy(const std::optional<legacy_state>& state,
                                           const legacy_standing& me,
                                           const rendezvous_settings& settings,
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
