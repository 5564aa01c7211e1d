// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/named_factories.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <memory>

namespace elastic {

/// The rendezvous backends by name: those of this library, and those that you add.
class rendezvous_registry
    : public named_factories<rendezvous_handler, const rendezvous_parameters&> {
 public:
  /// Knows "static", "c10d", "etcd", "etcd-v2", "etcd-v3" and "file".
  ELASTIC_DECL rendezvous_registry();

  /// Makes the handler that `parameters.backend` names; errors as above.
  ELASTIC_DECL std::shared_ptr<rendezvous_handler> make(
      const rendezvous_parameters& parameters) const;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/rendezvous_registry.ipp>
#endif
