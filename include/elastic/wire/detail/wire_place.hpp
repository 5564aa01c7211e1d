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

/// What a node tells the others of its workers, so that these find each other.
struct wire_place {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  wire_place() = default;

  /// Its wire-ups: "jax,tf".
  std::string kinds;
  /// The rank of its first worker, and how many there are.
  int base_rank = 0;
  int workers = 1;
  /// Where the workers of other nodes find those of this one.
  std::string address;
  /// Free ports there: one for JAX's coordinator, one for each worker for TensorFlow.
  std::uint16_t coordinator_port = 0;
  std::vector<std::uint16_t> ports;
};

ELASTIC_DECL std::string text_of(const wire_place& place);

/// Errors: `errc::protocol_violation`, saying what is wrong.
ELASTIC_DECL wire_place parse_wire_place(std::string_view text);

/// The nodes of a round in the order of their workers' ranks.
/// @param kinds  this node's wire-ups
/// Errors: `errc::invalid_argument` if a node has other wire-ups; `errc::protocol_violation` if the
/// ranks are not those of one world.
ELASTIC_DECL std::vector<wire_place> in_order_of_ranks(std::vector<wire_place> places,
                                                       std::string_view kinds);

/// What JAX reads: the address of its coordinator, and variables of Open MPI, which are the only
/// ones from which it learns of the processes of any launcher.
ELASTIC_DECL environment_map jax_variables(const std::vector<wire_place>& places,
                                           const worker_identity& worker);

/// The value of TF_CONFIG: every worker of the job, and this one's place among them.
ELASTIC_DECL std::string tf_config(const std::vector<wire_place>& places, int rank);

/// Which ranks are on one node, as MPICH reads it: "(vector,(0,2,4))" for two nodes with four each.
/// Empty if that is longer than a value may be.
ELASTIC_DECL std::string process_mapping(const std::vector<wire_place>& places);

/// The variables of other launchers that would mislead workers with these wire-ups.
/// @param kinds  names, separated by commas
ELASTIC_DECL std::vector<std::string> misleading_variables(const environment_map& variables,
                                                           std::string_view kinds);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/detail/impl/wire_place.ipp>
#endif
