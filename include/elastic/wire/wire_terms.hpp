// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <set>
#include <string>
#include <string_view>

namespace elastic {

/// A mechanism by which the processes of a job find each other, besides torchrun's variables.
enum class wire_up {
  /// `jax.distributed.initialize()` without arguments.
  jax,
  /// PMI-1, the protocol between MPICH, or an MPI derived from it, and its launcher.
  mpi,
  /// TensorFlow's variable TF_CONFIG.
  tf,
};

/// "jax", "mpi" or "tf".
ELASTIC_DECL std::string_view to_string(wire_up kind);

/// The wire-ups of the workers of an agent; all nodes of a job must have the same ones.
struct wire_terms {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  wire_terms() = default;

  std::set<wire_up> kinds;
  /// The address at which the workers of other nodes reach this node, or its interface or network
  /// (`local_address_named`). Empty: the address on the route to the node that serves the workers'
  /// store.
  std::string address;
};

/// Parses a list of wire-ups such as "jax,tf".
/// Errors: `errc::invalid_argument` for an unknown name; the message lists the known ones.
ELASTIC_DECL std::set<wire_up> parse_wire_ups(std::string_view text);

/// Checks wire_terms. Errors: `errc::invalid_argument` if there is no wire-up, or if jax and mpi
/// are combined: JAX needs variables of Open MPI, which would mislead an MPI library.
ELASTIC_DECL void validate(const wire_terms& terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/impl/wire_terms.ipp>
#endif
