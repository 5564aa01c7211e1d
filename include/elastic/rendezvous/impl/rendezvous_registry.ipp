// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/rendezvous/detail/solo_rendezvous.hpp>
#include <elastic/rendezvous/detail/static_rendezvous.hpp>
#include <elastic/rendezvous/native/detail/c10d_rendezvous.hpp>

#include <fmt/format.h>

namespace elastic {

// The compiled library contains every module, so its registry uses them without including any.
#if !defined(ELASTIC_HEADER_ONLY)
void add_etcd_rendezvous(rendezvous_registry& registry);
void add_file_rendezvous(rendezvous_registry& registry);
void add_torch_rendezvous(rendezvous_registry& registry);
#endif

namespace detail {

ELASTIC_DECL std::string how_to_add(std::string_view backend) {
  const bool is_etcd = backend == "etcd" || backend == "etcd-v2" || backend == "etcd-v3";
  if (!is_etcd && backend != "file") return "";
  return fmt::format(
      "include <elastic/{0}.hpp> (in the single header: define ELASTIC_WITH_{1}) and call "
      "add_{0}_rendezvous(registry)",
      is_etcd ? "etcd" : "file", is_etcd ? "ETCD" : "FILE");
}

inline std::shared_ptr<rendezvous_handler> make_native(const rendezvous_parameters& parameters) {
  const auto dialect = parameters.conf.find("dialect");
  if (dialect == parameters.conf.end() || dialect->second == "auto") {
    return new_shared<c10d_rendezvous>(parameters);
  }
  throw error(errc::invalid_argument, fmt::format("{}={}: {}", parameters.name_of("dialect"),
                                                  dialect->second, c10d_rendezvous::torch_hint));
}

}  // namespace detail

ELASTIC_DECL rendezvous_registry::rendezvous_registry()
    : named_factories("there is no rendezvous backend") {
  add("static", [](const rendezvous_parameters& parameters) {
    return detail::new_shared<detail::static_rendezvous>(parameters);
  });
  add("c10d", [](const rendezvous_parameters& parameters) -> rendezvous_factory {
    // A job of one node needs no socket for its rendezvous.
    if (parameters.max_nodes == 1) return detail::new_shared<detail::solo_rendezvous>(parameters);
    return detail::make_native(parameters);
  });
#if !defined(ELASTIC_HEADER_ONLY)
  add_etcd_rendezvous(*this);
  add_file_rendezvous(*this);
  add_torch_rendezvous(*this);
#endif
}

ELASTIC_DECL rendezvous_factory rendezvous_registry::make(
    const rendezvous_parameters& parameters) const {
  detail::required(parameters.time, "rendezvous_parameters::time");
  const std::string way = detail::how_to_add(parameters.backend);
  if (!way.empty() && !contains(parameters.backend)) {
    throw error(errc::invalid_argument, fmt::format("the rendezvous backend '{}' was not added: {}",
                                                    parameters.backend, way));
  }
  if (parameters.backend == "static" || parameters.backend == "etcd-v2") {
    parameters.refuse_choice_of_nodes(
        fmt::format("the rendezvous backend '{}'", parameters.backend));
  }
  return named_factories::make(parameters.backend, parameters);
}

}  // namespace elastic
