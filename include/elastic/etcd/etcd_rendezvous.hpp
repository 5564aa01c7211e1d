// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace elastic {

namespace detail {

ELASTIC_DECL std::string conf_text(const rendezvous_parameters& parameters, std::string_view name,
                                   std::string fallback = "");

/// With `password_file`: the password that is in it. It is read once, so that it may be a pipe.
ELASTIC_DECL rendezvous_parameters with_password(rendezvous_parameters parameters);

}  // namespace detail

/// The rendezvous named "etcd", "etcd-v3" and "etcd-v2": nodes meet in an etcd, by the rules of
/// torchrun's dynamic rendezvous. By the v3 API (3.4 or later) each has a lease; by the v2 API
/// nodes of torchrun may take part that were started with its backend "etcd-v2". "etcd" is as
/// torchrun's backend of that name if nodes of it meet or a dialect is given, else v3 if
/// the server has it. docs/guide.md has the settings (`--rdzv-conf`).
///
/// Errors: `errc::invalid_argument` for an empty run id, an endpoint that is none, or a setting out
/// of bounds. Those of etcd itself come with the first round.
ELASTIC_DECL std::shared_ptr<rendezvous_handler> make_etcd_rendezvous(
    rendezvous_parameters parameters);

/// Adds "etcd", "etcd-v2" and "etcd-v3"; a compiled library's registry has them.
ELASTIC_DECL void add_etcd_rendezvous(rendezvous_registry& registry);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/impl/etcd_rendezvous.ipp>
#endif
