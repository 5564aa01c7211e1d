// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/torch/detail/torch_exit.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The stage of one version of torchrun's rendezvous "etcd".
enum class legacy_status {
  /// A node is making it.
  setup,
  /// Nodes join.
  joinable,
  /// All participants have joined, and confirm that.
  frozen,
  /// All participants have confirmed.
  complete,
  /// The job is over; there will be no further version.
  closed,
};

/// The state that nodes share in torchrun's rendezvous "etcd". In it, nodes have no names, but
/// ranks in the order in which they joined.
/// Source: torch.distributed.elastic.rendezvous.etcd_rendezvous.
struct legacy_state {
  legacy_status status = legacy_status::setup;
  /// Only in joinable, frozen and complete states; digits.
  std::string version;
  int participants = 0;
  /// The keys of the nodes that have confirmed, in the order in which they did.
  std::vector<std::string> keep_alives;
  /// Only in a complete state: the number of nodes that wait for the next version. Each counts
  /// itself.
  int waiting = 0;
  /// Only in a closed state, to which elasticrun adds it; empty if a node of torchrun closed it.
  std::optional<job_ending> ending;
};

/// The name of the key by which the node of a rank shows that it lives.
ELASTIC_DECL std::string legacy_lease_name(int rank);

/// Whether the node of that rank has confirmed.
ELASTIC_DECL bool has_confirmed(const legacy_state& state, int rank);

/// Parses a state in the format of torchrun's nodes.
/// Errors: `errc::rendezvous_state`, saying what is wrong with it.
ELASTIC_DECL legacy_state parse_legacy_state(std::string_view text);

/// A state in the format of torchrun's nodes.
ELASTIC_DECL std::string to_text(const legacy_state& state);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/legacy_state.ipp>
#endif
