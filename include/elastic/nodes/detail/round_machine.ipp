// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/round_machine.hpp>

#include <elastic/base/assert.hpp>

#include <cstddef>
#include <iterator>

namespace elastic::detail {

ELASTIC_DECL bool contains(const round_state& state, const node_id& node) {
  return state.participants.count(node) != 0;
}

ELASTIC_DECL int size_of(const round_state& state) {
  return static_cast<int>(state.participants.size());
}

ELASTIC_DECL bool has_place(const round_state& state, const rendezvous_settings& settings,
                            round_rules rules) {
  const std::size_t promised = rules == round_rules::direct ? state.wait_list.size() : 0;
  return state.participants.size() + promised < static_cast<std::size_t>(settings.max_nodes);
}

/// Whether the nodes that stand by make a larger round possible than the running one.
inline bool can_grow(const round_state& state, const rendezvous_settings& settings,
                     std::size_t more) {
  const std::size_t ready = state.participants.size() + state.redundancy_list.size() + more;
  return settings.can_grow(size_of(state), static_cast<int>(ready));
}

/// Whether a running round that has a place should end for a node that takes no part in it.
inline bool ends_for(const round_state& state, const node_id& node,
                     const rendezvous_settings& settings, round_rules rules, time_point now) {
  // A round that others wait for is about to end anyway.
  if (rules != round_rules::direct || !state.wait_list.empty()) return true;
  if (!can_grow(state, settings, 1 - state.redundancy_list.count(node))) return false;
  if (settings.scale_up_delay <= duration::zero()) return true;
  return state.scale_up_at && *state.scale_up_at <= now;
}

inline round_decision decide_in_complete_round(const round_state& state, const node_id& node,
                                               const rendezvous_settings& settings,
                                               round_rules rules, time_point now) {
  if (state.wait_list.count(node) != 0) {
    return {round_action::wait, "waits for the nodes of this round to leave it"};
  }
  if (has_place(state, settings, rules)) {
    if (ends_for(state, node, settings, rules, now)) {
      return {round_action::enter_wait_list, "the round runs and has a place for one more"};
    }
    return {round_action::enter_redundancy_list, "the round runs, and does not end for it yet"};
  }
  if (rules == round_rules::torch_1_13) {
    return {round_action::wait, "the round runs with the most nodes that are allowed"};
  }
  return {round_action::enter_redundancy_list,
          "the round runs with the most nodes that are allowed"};
}

ELASTIC_DECL bool is_in_last_call(const round_state& state, const node_id& node,
                                  const rendezvous_settings& settings, round_rules rules) {
  return rules == round_rules::direct && !state.complete && contains(state, node) &&
         size_of(state) >= settings.min_nodes;
}

/// Decides whether a round that has enough nodes waits for more.
inline round_decision decide_completion(const round_state& state,
                                        const rendezvous_settings& settings, round_rules rules,
                                        time_point now) {
  if (rules == round_rules::direct && !state.unknown_nodes) {
    const bool all_here = state.wait_list.empty() &&
                          (state.redundancy_list.empty() || size_of(state) == settings.max_nodes);
    if (all_here) return {round_action::complete_round, "every node that is known is there"};
    return {round_action::wait, "nodes that are known are still to enter"};
  }
  if (state.deadline && *state.deadline <= now) {
    return {round_action::complete_round, "the last call is over"};
  }
  return {round_action::wait, "the last call is under way"};
}

ELASTIC_DECL round_decision decide_join(const round_state& state, const node_id& node,
                                        const rendezvous_settings& settings, round_rules rules,
                                        time_point now, time_point deadline) {
  if (state.closed) return {round_action::refuse_closed, "the job has ended"};
  if (state.redundancy_list.count(node) != 0) {
    const bool may_enter = !state.complete || ends_for(state, node, settings, rules, now);
    if (may_enter && has_place(state, settings, rules)) {
      return {round_action::leave_redundancy_list, "a place has become free"};
    }
    return {round_action::wait, "stands by"};
  }
  const bool is_in = contains(state, node);
  if (state.complete && is_in) return {round_action::placed, "the round is complete"};
  if (now > deadline && !is_in_last_call(state, node, settings, rules)) {
    if (is_in) return {round_action::leave_round, "waited long enough"};
    if (state.wait_list.count(node) != 0) {
      return {round_action::leave_wait_list, "waited long enough"};
    }
    return {round_action::refuse_timeout, "waited long enough"};
  }
  if (state.complete) return decide_in_complete_round(state, node, settings, rules, now);
  if (!is_in) {
    const bool may_enter = state.wait_list.count(node) != 0 || has_place(state, settings, rules);
    if (may_enter) return {round_action::enter_round, "the round takes nodes"};
    return {round_action::enter_redundancy_list, "all places are promised"};
  }
  if (size_of(state) < settings.min_nodes) {
    return {round_action::wait, "there are not enough nodes"};
  }
  return decide_completion(state, settings, rules, now);
}

ELASTIC_DECL round_decision decide_leave(const round_state& state, const node_id& node) {
  if (contains(state, node)) return {round_action::leave_round, "leaves"};
  if (state.wait_list.count(node) != 0) return {round_action::leave_wait_list, "leaves"};
  if (state.redundancy_list.count(node) != 0) {
    return {round_action::leave_redundancy_list, "leaves"};
  }
  return {round_action::wait, "has no place"};
}

ELASTIC_DECL bool frees_others(const round_state& state, round_action action,
                               const rendezvous_settings& settings) {
  const bool leaves_round = action == round_action::leave_round;
  if (!leaves_round && action != round_action::leave_wait_list) return false;
  // A node that stands by may get the place.
  if (!state.redundancy_list.empty()) return true;
  // The next round waits for all nodes of one that runs.
  if (state.complete) return false;
  // A round with enough nodes keeps nodes whose time is over, while a round with too few does not.
  // A round that has all known nodes is complete.
  return leaves_round ? size_of(state) == settings.min_nodes - 1 : state.wait_list.empty();
}

ELASTIC_DECL void complete_round(round_state& state) {
  state.complete = true;
  state.deadline.reset();
  state.scale_up_at.reset();
  int rank = 0;
  for (auto& [node, its_rank] : state.participants) its_rank = rank++;
}

ELASTIC_DECL void enter_round(round_state& state, const node_id& node,
                              const rendezvous_settings& settings, time_point now) {
  state.wait_list.erase(node);
  state.participants[node] = 0;
  if (size_of(state) == settings.min_nodes) state.deadline = now + settings.last_call_timeout;
  if (size_of(state) == settings.max_nodes) complete_round(state);
}

/// Moves the nodes that have no place in the round, which is about to be complete, to standby: the
/// last ones in the order of nodes.
inline void stand_by(round_state& state, const rendezvous_settings& settings) {
  const int most = settings.most_of(size_of(state));
  while (size_of(state) > most) {
    const auto last = std::prev(state.participants.end());
    state.redundancy_list.insert(last->first);
    state.participants.erase(last);
  }
}

/// Puts a node on standby. If this makes a larger round possible, its delay counts from now on.
inline void enter_redundancy_list(round_state& state, const node_id& node,
                                  const rendezvous_settings& settings, time_point now) {
  const bool could_grow = can_grow(state, settings, 0);
  state.redundancy_list.insert(node);
  const bool is_delayed = state.complete && settings.scale_up_delay > duration::zero();
  if (!is_delayed || could_grow || !can_grow(state, settings, 0)) return;
  state.scale_up_at = now + settings.scale_up_delay;
}

/// Takes a node off standby. A delay that is already over is not cancelled by this.
inline void leave_redundancy_list(round_state& state, const node_id& node,
                                  const rendezvous_settings& settings, time_point now) {
  state.redundancy_list.erase(node);
  const bool is_under_way = state.scale_up_at && *state.scale_up_at > now;
  if (is_under_way && !can_grow(state, settings, 0)) state.scale_up_at.reset();
}

/// The departure of the last participant of a complete round begins the next round.
inline void apply_departure(round_state& state, const rendezvous_settings& settings) {
  if (state.complete && state.participants.empty()) {
    state.complete = false;
    state.scale_up_at.reset();
    ++state.round;
    state.unknown_nodes = state.wait_list.empty() && state.redundancy_list.empty();
  }
  if (!state.complete && size_of(state) < settings.min_nodes) state.deadline.reset();
}

ELASTIC_DECL void apply(round_state& state, round_action action, const node_id& node,
                        const rendezvous_settings& settings, time_point now) {
  switch (action) {
    case round_action::placed:
    case round_action::wait:
    case round_action::refuse_closed:
    case round_action::refuse_timeout: break;
    case round_action::enter_round: enter_round(state, node, settings, now); break;
    case round_action::enter_wait_list: state.wait_list.insert(node); break;
    case round_action::enter_redundancy_list:
      enter_redundancy_list(state, node, settings, now);
      break;
    case round_action::leave_wait_list: state.wait_list.erase(node); break;
    case round_action::leave_redundancy_list:
      leave_redundancy_list(state, node, settings, now);
      break;
    case round_action::leave_round:
      state.participants.erase(node);
      apply_departure(state, settings);
      break;
    case round_action::leave_to_rejoin:
      ELASTIC_ASSERT(state.complete && contains(state, node));
      state.participants.erase(node);
      state.wait_list.insert(node);
      apply_departure(state, settings);
      break;
    case round_action::complete_round:
      stand_by(state, settings);
      complete_round(state);
      break;
  }
}

}  // namespace elastic::detail
