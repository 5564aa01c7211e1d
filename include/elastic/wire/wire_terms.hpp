// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <set>
#include <string>
#include <string_view>

namespace elastic {

/// A way in which the processes of a job find each other, besides torchrun's variables.
enum class wire_up {
  /// `jax.distributed.initialize()` without arguments.
  jax,
  /// PMI-1, the protocol in which MPICH and its relatives ask their launcher.
  mpi,
  /// TF_CONFIG of TensorFlow.
  tf,
};

/// "jax", "mpi" or "tf".
ELASTIC_DECL std::string_view to_string(wire_up kind);

/// Which wire-ups the workers of an agent get; all nodes of a job must have the same.
struct wire_terms {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  wire_terms() = default;

  std::set<wire_up> kinds;
  /// The address of this node for the workers of other nodes, or its interface or network
  /// (`local_address_named`). Empty: that on the route to the node
  /// of the workers' store.
  std::string address;
};

/// The wire-ups in a list of names such as "jax,tf".
/// Errors: `errc::invalid_argument` for a name that there is not, with what is allowed.
ELASTIC_DECL std::set<wire_up> parse_wire_ups(std::string_view text);

/// Checks wire_terms. Errors: `errc::invalid_argument` if there is no wire-up, or if jax and mpi
/// are combined: JAX takes variables of Open MPI for a launcher.
ELASTIC_DECL void validate(const wire_terms& terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/impl/wire_terms.ipp>
#endif
