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

/// How far one version of the rendezvous named "etcd" of torchrun has come.
enum class legacy_status {
  /// A node makes it.
  setup,
  /// Nodes join.
  joinable,
  /// All who take part have joined, and confirm it.
  frozen,
  /// All have confirmed.
  complete,
  /// The job is over; there is no further version.
  closed,
};

/// What nodes share in torchrun's rendezvous named "etcd". Nodes have no names in it, but ranks in
/// the order in which they joined.
/// Source: torch.distributed.elastic.rendezvous.etcd_rendezvous.
struct legacy_state {
  legacy_status status = legacy_status::setup;
  /// Of joinable, frozen and complete ones; digits.
  std::string version;
  int participants = 0;
  /// The keys of those that have confirmed, in the order in which they did.
  std::vector<std::string> keep_alives;
  /// How many wait for the next version of a complete one, as they have counted themselves.
  int waiting = 0;
  /// Of a closed one, which elasticrun adds; none if a node of torchrun has closed it.
  std::optional<job_ending> ending;
};

/// The name of the key by which the node of a rank says that it lives.
ELASTIC_DECL std::string legacy_lease_name(int rank);

/// Whether the node of that rank has confirmed.
ELASTIC_DECL bool has_confirmed(const legacy_state& state, int rank);

/// Reads a state as nodes of torchrun write it.
/// Errors: `errc::rendezvous_state`, saying what is wrong with it.
ELASTIC_DECL legacy_state parse_legacy_state(std::string_view text);

/// A state as nodes of torchrun read it.
ELASTIC_DECL std::string to_text(const legacy_state& state);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/impl/legacy_state.ipp>
#endif
