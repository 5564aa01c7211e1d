// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/named_factories.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace elastic {

class rendezvous_registry;

namespace detail {

/// What a backend of the library is capable of. Each of these includes those before it.
enum class backend_capability {
  one_node,
  worker_store,
  several_nodes,
  several_endpoints,
  nodes_of_torchrun,
};

/// Adds a backend of the library. Keeps a program's own backend of that name, and one of the
/// library that is capable of as much.
ELASTIC_DECL void add_library_backend(
    rendezvous_registry& registry, std::string name, backend_capability capability,
    std::function<rendezvous_factory(const rendezvous_parameters&)> make);

}  // namespace detail

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
///
/// A backend that a program adds by `add` replaces one of the library with the same name, whichever
/// is added first. The order of the calls above does not matter either.
class rendezvous_registry
    : detail::named_factories<rendezvous_factory, const rendezvous_parameters&> {
 public:
  /// A function that makes a rendezvous_factory of rendezvous_parameters.
  using named_factories::factory;

  ELASTIC_DECL rendezvous_registry();

  /// Adds a backend of the program, or replaces the one of that name. `add_nodes` and its like keep
  /// it, and add the rest.
  /// Errors: `errc::invalid_argument` if `make` is null.
  ELASTIC_DECL void add(std::string name, factory make);

  /// `contains(name)`: whether there is a backend of that name.
  using named_factories::contains;
  /// `names()`: every name, in order, as "c10d, static".
  using named_factories::names;

  /// Makes the factory for the handler that `parameters.backend` names. Does not block.
  /// Errors: `errc::invalid_argument` for an unknown name, for a null `time`, for a setting out of
  /// bounds, and for a backend of an opt-in module that was not added: the message names the header
  /// and the function.
  ELASTIC_DECL rendezvous_factory make(const rendezvous_parameters& parameters) const;

 private:
  friend void detail::add_library_backend(rendezvous_registry& registry, std::string name,
                                          detail::backend_capability capability, factory make);

  // The backends that are the library's, unlike a program's own of the same names.
  std::map<std::string, detail::backend_capability, std::less<>> library_backends_;
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
