// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/named_factories.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <string>
#include <string_view>

namespace elastic {

/// The rendezvous backends by name: those of this library, and those that a program adds.
///
/// If the library is compiled once (`elastic::compiled`), a registry has every backend of the
/// library. In a header-only program it has "c10d" for jobs of one node whose workers need no store
/// of their agent. A program includes and adds the rest:
///
///     #include <elastic/rendezvous/worker_store.hpp>   add_worker_store(registry);
///     #include <elastic/nodes.hpp>   add_nodes(registry);  // "c10d" of several nodes, "static"
///                                    add_candidates(registry);  // the same at several endpoints
///     #include <elastic/etcd.hpp>    add_etcd_rendezvous(registry);
///     #include <elastic/file.hpp>    add_file_rendezvous(registry);
///     #include <elastic/torch.hpp>   add_torch_rendezvous(registry);  // nodes of torchrun
///
/// A program that uses the single header defines ELASTIC_WITH_NODES, ELASTIC_WITH_ETCD,
/// ELASTIC_WITH_FILE or ELASTIC_WITH_TORCH before including it.
class rendezvous_registry
    : public detail::named_factories<rendezvous_factory, const rendezvous_parameters&> {
 public:
  ELASTIC_DECL rendezvous_registry();

  /// Makes the factory for the handler that `parameters.backend` names. Does not block.
  /// Errors: `errc::invalid_argument` for an unknown name, for a null `time`, for a setting out of
  /// bounds, and for a backend of an opt-in module that was not added: the message names the header
  /// and the function.
  ELASTIC_DECL rendezvous_factory make(const rendezvous_parameters& parameters) const;
};

namespace detail {

/// How a program can add `backend`, if it belongs to an opt-in module; otherwise empty.
ELASTIC_DECL std::string how_to_add(std::string_view backend);

/// The backend "c10d" of a registry to which nothing was added: one node, without a store.
ELASTIC_DECL rendezvous_factory make_solo(const rendezvous_parameters& parameters);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/rendezvous_registry.ipp>
#endif
