// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/registered_rendezvous.hpp>

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/job_file_fingerprint.hpp>
#include <elastic/nodes/detail/job_file_registry.hpp>
#include <elastic/nodes/detail/leader_network.hpp>
#include <elastic/nodes/detail/leader_registry.hpp>
#include <elastic/nodes/detail/registry_connector.hpp>
#include <elastic/nodes/detail/registry_source.hpp>
#include <elastic/rendezvous/detail/reachable_address.hpp>

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline constexpr std::chrono::seconds default_registry_grace{60};
inline constexpr std::chrono::seconds least_registry_grace{1};

inline task<std::shared_ptr<registry_connector>> make_registry_connector(
    rendezvous_parameters parameters, registry_place place) {
  if (place.prepare) co_await place.prepare();
  std::string address = co_await reachable_address(parameters.local_addr, place.hosts);
  registry_connector::options options;
  options.run_id = parameters.run_id;
  options.settings = parameters.settings();
  options.registry_grace = parameters.seconds("registry_grace", default_registry_grace);
  options.registry = [keys = place.keys, secret = parameters.secret] {
    return new_shared<leader_registry>(keys(), secret);
  };
  if (place.shared_keys) {
    options.fingerprint = parameters.conf["fingerprint"];
    options.job_files = new_shared<job_file_registry>(place.shared_keys(), parameters.secret);
  }
  options.reports = internals::of(parameters).reports;
  options.time = parameters.time;
  options.log = parameters.log;
  options.network = new_shared<tcp_leader_network>(std::move(parameters), std::move(address));
  co_return new_shared<registry_connector>(std::move(options));
}

ELASTIC_DECL std::shared_ptr<c10d_rendezvous> make_registered(rendezvous_parameters parameters,
                                                              registry_place place) {
  if (parameters.run_id.empty()) {
    throw error(errc::invalid_argument,
                fmt::format("{} must not be empty", parameters.name_of("run_id")));
  }
  const rendezvous_settings settings = parameters.settings();
  const auto refuse = [&place](const std::string& why) {
    throw error(errc::invalid_argument, fmt::format("{}: {}", place.name, why));
  };
  if (!place.keys) refuse("registry_place::keys is null");
  if (settings.reconnect_grace < std::chrono::milliseconds(300)) {
    refuse(fmt::format("nodes need at least 0.3 s of {}", parameters.name_of("reconnect_grace")));
  }
  if (settings.max_nodes > limits::rendezvous_register_nodes) {
    refuse(fmt::format("up to {} nodes can meet there ({})", limits::rendezvous_register_nodes,
                       parameters.name_of("max_nodes")));
  }
  if (parameters.seconds("registry_grace", default_registry_grace) <
      least_registry_grace) {
    refuse(fmt::format("{} has to be at least 1 s", parameters.name_of("registry_grace")));
  }
  parameters.secret = parameters.chosen_secret();
  parameters.conf.erase("secret_file");
  registry_source::maker make = [parameters, place] {
    return make_registry_connector(parameters, place);
  };
  const auto leaders =
      new_shared<registry_source>(parameters.backend, place.name, std::move(make));
  return new_shared<c10d_rendezvous>(std::move(parameters), leaders);
}

ELASTIC_DECL std::string compared_job(const rendezvous_parameters& parameters) {
  if (!parameters.conf.contains("fingerprint")) return {};
  return std::string(job_of_role(parameters.run_id));
}

}  // namespace detail

ELASTIC_DECL std::vector<std::string_view> registered_settings() {
  return detail::meeting_settings(
      {"host_grace", "registry_grace", "secret_file", "worker_networks", "fingerprint"});
}

ELASTIC_DECL std::shared_ptr<rendezvous_handler> make_registered_rendezvous(
    rendezvous_parameters parameters, registry_place place) {
  return detail::make_registered(std::move(parameters), std::move(place));
}

}  // namespace elastic
