// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <string>
#include <string_view>

namespace elastic {

namespace detail {

ELASTIC_DECL std::string conf_text(const rendezvous_parameters& parameters, std::string_view name,
                                   std::string fallback = "");

/// Replaces the setting `password_file` by the password in that file. Reads it once, because it may
/// be a pipe.
ELASTIC_DECL rendezvous_parameters with_password(rendezvous_parameters parameters);

}  // namespace detail

/// Makes the backend "etcd", "etcd-v3" or "etcd-v2". Over the v3 API (3.4 or later), etcd names the
/// agent at which the nodes meet (`make_registered_rendezvous`). Over the v2 API, they meet by the
/// rules of torchrun's dynamic rendezvous, and nodes of torchrun that were started with its backend
/// "etcd-v2" may take part. "etcd" behaves like torchrun's backend of that name if nodes of
/// torchrun use it or a dialect is given; otherwise it uses the v3 API if the server has it.
/// docs/nodes.md has the settings (`--rdzv-conf`).
///
/// Errors: `errc::invalid_argument` for an empty run id, a malformed endpoint, or a setting out of
/// bounds. Making the handler, or its first round, reports errors of etcd itself.
ELASTIC_DECL rendezvous_factory make_etcd_rendezvous(rendezvous_parameters parameters);

/// Adds the backends "etcd", "etcd-v2" and "etcd-v3", which the registry of a compiled library has.
ELASTIC_DECL void add_etcd_rendezvous(rendezvous_registry& registry);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/impl/etcd_rendezvous.ipp>
#endif
