// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// What the other nodes need to know about the workers of a node, so that workers find each other.
struct wire_place {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  wire_place() = default;

  /// The wire-ups of the node: "jax,tf".
  std::string kinds;
  /// The rank of its first worker, and the number of its workers.
  int base_rank = 0;
  int workers = 1;
  /// The address at which workers of other nodes reach those of this node.
  std::string address;
  /// Free ports at that address: one for JAX's coordinator, and one per worker for TensorFlow.
  std::uint16_t coordinator_port = 0;
  std::vector<std::uint16_t> ports;
};

ELASTIC_DECL std::string text_of(const wire_place& place);

/// Errors: `errc::protocol_violation`, naming the mistake.
ELASTIC_DECL wire_place parse_wire_place(std::string_view text);

/// Sorts the nodes of a round by the ranks of their workers.
/// @param kinds  this node's wire-ups
/// Errors: `errc::invalid_argument` if a node has different wire-ups; `errc::protocol_violation` if
/// the ranks have gaps or duplicates.
ELASTIC_DECL std::vector<wire_place> in_order_of_ranks(std::vector<wire_place> places,
                                                       std::string_view kinds);

/// The variables that JAX reads: the address of its coordinator, and variables of Open MPI, because
/// JAX has none of its own for the rank and the number of processes.
ELASTIC_DECL environment_map jax_variables(const std::vector<wire_place>& places,
                                           const worker_identity& worker);

/// The value of TF_CONFIG: the address of every worker of the job, and the rank of this one.
ELASTIC_DECL std::string tf_config(const std::vector<wire_place>& places, int rank);

/// The number of ranks on each node, in MPICH's format: "(vector,(0,2,4))" for two nodes with four
/// ranks each. Empty if the text would exceed `limits::pmi_value_bytes`.
ELASTIC_DECL std::string process_mapping(const std::vector<wire_place>& places);

/// The names of variables of other launchers that would mislead workers with these wire-ups.
/// @param kinds  the names of the wire-ups, separated by commas
ELASTIC_DECL std::vector<std::string> misleading_variables(const environment_map& variables,
                                                           std::string_view kinds);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/detail/wire_place.ipp>
#endif
