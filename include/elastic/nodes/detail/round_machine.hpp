// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/round_state.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <string_view>

namespace elastic::detail {

/// The rules by which nodes meet.
enum class round_rules {
  /// Those of PyTorch up to 2.2: a node beyond the maximum keeps asking.
  torch_1_13,
  /// Those of PyTorch 2.6 and newer: a node beyond the maximum stands by.
  torch_2_6,
  /// Those of this library, for a server that sees every node: a round whose nodes are known is
  /// complete as soon as all of them are present, and the wait list never promises more places than
  /// the next round has.
  direct,
};

/// What happens to one node. `apply` carries it out if it changes the state.
enum class round_action {
  /// The node is in a complete round.
  placed,
  /// The node has to wait until the state changes.
  wait,
  refuse_closed,
  refuse_timeout,
  enter_round,
  enter_wait_list,
  enter_redundancy_list,
  leave_round,
  leave_wait_list,
  leave_redundancy_list,
  /// The node moves from the complete round to the wait list of the next one.
  leave_to_rejoin,
  complete_round,
};

struct round_decision {
  round_action action;
  /// The reason, a clause.
  std::string_view reason;

  friend bool operator==(const round_decision&, const round_decision&) = default;
};

ELASTIC_DECL bool contains(const round_state& state, const node_id& node);

ELASTIC_DECL int size_of(const round_state& state);

/// Whether there is a place that is neither taken nor promised.
ELASTIC_DECL bool has_place(const round_state& state, const rendezvous_settings& settings,
                            round_rules rules);

/// Whether a node is in a round that has enough nodes and waits for more. By this library's rules
/// the node then stays, however long it has waited.
ELASTIC_DECL bool is_in_last_call(const round_state& state, const node_id& node,
                                  const rendezvous_settings& settings, round_rules rules);

/// The next step of a node that wants to be in a round. Call it again after each step, until the
/// node is `placed`, is refused, or has to wait.
///
/// @param deadline  the time at which the node stops waiting for a place; a node that stands by
///                  waits without limit
/// Source: _RendezvousJoinOp of PyTorch's dynamic rendezvous, for the rules of that name.
ELASTIC_DECL round_decision decide_join(const round_state& state, const node_id& node,
                                        const rendezvous_settings& settings, round_rules rules,
                                        time_point now, time_point deadline);

/// The next step of a node that gives up its place, in the round or on a list.
ELASTIC_DECL round_decision decide_leave(const round_state& state, const node_id& node);

/// Whether nodes that wait may be able to take a step because another node has just left by
/// `action`. By this library's rules, every node that waits is on one of the lists.
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
#include <elastic/nodes/detail/round_machine.ipp>
#endif
