// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_registry.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/rendezvous/detail/solo_rendezvous.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic {

// The compiled library contains every module, so its registry uses them without including any. Cut
// into parts (ELASTIC_SOURCE_PART), it contains those that were chosen.
#if !defined(ELASTIC_HEADER_ONLY)
void add_candidates(rendezvous_registry& registry);
void add_etcd_rendezvous(rendezvous_registry& registry);
void add_file_rendezvous(rendezvous_registry& registry);
void add_torch_rendezvous(rendezvous_registry& registry);
void add_worker_store(rendezvous_registry& registry);
#endif

namespace detail {

ELASTIC_DECL void add_library_backend(rendezvous_registry& registry, std::string name,
                                      backend_capability capability,
                                      rendezvous_registry::factory make) {
  const auto held = registry.library_backends_.find(name);
  const bool is_library = held != registry.library_backends_.end();
  if (is_library ? held->second >= capability : registry.contains(name)) return;
  registry.library_backends_.insert_or_assign(name, capability);
  registry.named_factories::add(std::move(name), std::move(make));
}

inline std::string how_to_call(std::string_view module, std::string_view macro,
                               std::string_view function) {
  return fmt::format(
      "include <elastic/{}.hpp> (in the single header: define ELASTIC_WITH_{}) and call "
      "{}(registry)",
      module, macro, function);
}

ELASTIC_DECL std::string how_to_add(std::string_view backend) {
  if (backend == "static") return how_to_call("nodes", "NODES", "add_nodes");
  if (backend == "file") return how_to_call("file", "FILE", "add_file_rendezvous");
  const bool is_etcd = backend == "etcd" || backend == "etcd-v2" || backend == "etcd-v3";
  return is_etcd ? how_to_call("etcd", "ETCD", "add_etcd_rendezvous") : std::string();
}

ELASTIC_DECL rendezvous_factory make_solo(const rendezvous_parameters& parameters) {
  if (parameters.max_nodes > 1) {
    throw error(errc::invalid_argument,
                fmt::format("{} is {}: {}", parameters.name_of("max_nodes"), parameters.max_nodes,
                            how_to_call("nodes", "NODES", "add_nodes")));
  }
  const std::string place = parameters.endpoint.empty() ? "localhost" : parameters.endpoint;
  // A list of endpoints is refused by its own error.
  const bool is_served =
      place.find(',') == std::string::npos && parse_endpoint(place, c10d_port).port != 0;
  if (parameters.share_worker_store || is_served) {
    const std::string what =
        parameters.share_worker_store
            ? "the store of the workers (rendezvous_parameters::share_worker_store)"
            : fmt::format("the server at '{}' ({}; port 0 needs none)", place,
                          parameters.name_of("endpoint"));
    throw error(errc::invalid_argument,
                fmt::format("{} was not added: include <elastic/rendezvous/worker_store.hpp> and "
                            "call add_worker_store(registry)",
                            what));
  }
  return new_shared<solo_rendezvous>(parameters);
}

}  // namespace detail

ELASTIC_DECL rendezvous_registry::rendezvous_registry()
    : named_factories("there is no rendezvous backend") {
  detail::add_library_backend(*this, "c10d", detail::backend_capability::one_node,
                              detail::make_solo);
#if !defined(ELASTIC_HEADER_ONLY)
  add_worker_store(*this);
#if !defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_NODES)
  add_candidates(*this);
#endif
#if !defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_ETCD)
  add_etcd_rendezvous(*this);
#endif
#if !defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_FILE)
  add_file_rendezvous(*this);
#endif
#if !defined(ELASTIC_SOURCE_PART) || defined(ELASTIC_WITH_TORCH)
  add_torch_rendezvous(*this);
#endif
#endif
}

ELASTIC_DECL void rendezvous_registry::add(std::string name, factory make) {
  named_factories::add(name, std::move(make));
  library_backends_.erase(name);
}

ELASTIC_DECL rendezvous_factory rendezvous_registry::make(
    const rendezvous_parameters& parameters) const {
  detail::required(parameters.time, "rendezvous_parameters::time");
  const std::string way = detail::how_to_add(parameters.backend);
  if (!way.empty() && !contains(parameters.backend)) {
    throw error(errc::invalid_argument, fmt::format("the rendezvous backend '{}' was not added: {}",
                                                    parameters.backend, way));
  }
  const bool is_library = library_backends_.contains(parameters.backend);
  if (is_library && (parameters.backend == "static" || parameters.backend == "etcd-v2")) {
    parameters.refuse_choice_of_nodes(
        fmt::format("the rendezvous backend '{}'", parameters.backend));
  }
  return named_factories::make(parameters.backend, parameters);
}

}  // namespace elastic
