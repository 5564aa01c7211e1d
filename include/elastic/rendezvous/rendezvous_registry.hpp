// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/named_factories.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace elastic {

/// The rendezvous backends by name: those of this library, and those that you add.
///
/// If the library is compiled once (`elastic::compiled`), a registry has all of its backends. In a
/// header-only program it has "static" and "c10d" among nodes of elasticrun; the others are
/// compiled only if they are added by a call:
///
///     #include <elastic/rendezvous/etcd.hpp>    add_etcd_rendezvous(registry);
///     #include <elastic/rendezvous/file.hpp>    add_file_rendezvous(registry);
///     #include <elastic/rendezvous/torch.hpp>   add_torch_rendezvous(registry);  // with torchrun
class rendezvous_registry
    : public detail::named_factories<rendezvous_handler, const rendezvous_parameters&> {
 public:
  ELASTIC_DECL rendezvous_registry();

  /// Makes the handler that `parameters.backend` names.
  /// Errors: `errc::invalid_argument` for a name that is not known, or known but not added; the
  /// message names the header and the call. What the backend's constructor throws.
  ELASTIC_DECL std::shared_ptr<rendezvous_handler> make(
      const rendezvous_parameters& parameters) const;
};

namespace detail {

/// How a backend of the library is added that is not in a header-only program's registry by
/// itself; empty for any other name.
ELASTIC_DECL std::string how_to_add(std::string_view backend);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/rendezvous_registry.ipp>
#endif
