// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/detail/round_state.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <string_view>

namespace elastic::detail {

/// By whose rules nodes meet.
enum class round_rules {
  /// PyTorch's up to 2.2: a node beyond the maximum asks again and again.
  torch_1_13,
  /// PyTorch's of 2.6 and newer: a node beyond the maximum stands by.
  torch_2_6,
  /// Ours, if one server sees every node: a round whose nodes are known is complete as soon as
  /// all of them are there, and the wait list never promises more than the next round can hold.
  direct,
};

/// What is to happen to one node, by `apply` if it changes the state.
enum class round_action {
  /// It is in a complete round.
  placed,
  /// Nothing changes until something else does.
  wait,
  refuse_closed,
  refuse_timeout,
  enter_round,
  enter_wait_list,
  enter_redundancy_list,
  leave_round,
  leave_wait_list,
  leave_redundancy_list,
  /// From the complete round to the wait list of the next.
  leave_to_rejoin,
  complete_round,
};

struct round_decision {
  round_action action;
  /// Why, a half sentence.
  std::string_view reason;

  friend bool operator==(const round_decision&, const round_decision&) = default;
};

ELASTIC_DECL bool contains(const round_state& state, const node_id& node);

ELASTIC_DECL int size_of(const round_state& state);

/// Whether a place is neither taken nor promised.
ELASTIC_DECL bool has_place(const round_state& state, const rendezvous_settings& settings,
                            round_rules rules);

/// Whether a node is in a round that has enough nodes and waits for more. By our own rules it stays
/// then, however long it has waited.
ELASTIC_DECL bool is_in_last_call(const round_state& state, const node_id& node,
                                  const rendezvous_settings& settings, round_rules rules);

/// What the next step of a node is that wants to be in a round. To be asked again after each step,
/// until it is `placed`, refused, or waits.
///
/// @param deadline  until when the node waits for a place; one that stands by waits without an end
/// Source: _RendezvousJoinOp of PyTorch's dynamic rendezvous, for the rules of that name.
ELASTIC_DECL round_decision decide_join(const round_state& state, const node_id& node,
                                        const rendezvous_settings& settings, round_rules rules,
                                        time_point now, time_point deadline);

/// What the next step of a node is that gives up its place, whatever that is.
ELASTIC_DECL round_decision decide_leave(const round_state& state, const node_id& node);

/// Whether other nodes that wait may be able to take a step because a node has just left by
/// `action`. By our own rules every node that waits has its place on one of the lists.
/// @param state  after `apply`
ELASTIC_DECL bool frees_others(const round_state& state, round_action action,
                               const rendezvous_settings& settings);

ELASTIC_DECL void complete_round(round_state& state);

ELASTIC_DECL void enter_round(round_state& state, const node_id& node,
                              const rendezvous_settings& settings, time_point now);

/// Carries out a step of a node.
/// Source: _DistributedRendezvousOpExecutor of PyTorch's dynamic rendezvous.
ELASTIC_DECL void apply(round_state& state, round_action action, const node_id& node,
                        const rendezvous_settings& settings, time_point now);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/impl/round_machine.ipp>
#endif
