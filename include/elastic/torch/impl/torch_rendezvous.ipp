// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/torch_rendezvous.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/own_loopback.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/nodes/backends.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/candidate_source.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/detail/stored_rendezvous.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_generation.hpp>
#include <elastic/torch/detail/dynamic_rendezvous.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_agent_watch.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// How long a store that has just answered may take to answer again.
inline constexpr std::chrono::seconds torch_store_patience{5};
/// How long the node that serves the store may take to write the first state.
inline constexpr std::chrono::seconds first_state_patience{3};
inline constexpr std::chrono::milliseconds first_state_pause{100};

/// The setting `dialect`; empty: the server shows how its nodes meet.
/// Errors: `errc::invalid_argument` for an unknown dialect, or one that excludes another option.
inline std::optional<torch_dialect> announced_dialect(const rendezvous_parameters& parameters) {
  const auto setting = parameters.conf.find("dialect");
  if (setting == parameters.conf.end() || setting->second == "auto") return std::nullopt;
  std::optional<torch_dialect> dialect;
  try {
    dialect = parse_torch_dialect(setting->second);
  } catch (const error&) {
    throw error(
        errc::invalid_argument,
        fmt::format("{}={}: auto, 1.13, 2.0 or 2.6 is needed", parameters.name_of("dialect"),
                    setting->second));
  }
  if (parameters.chosen_secret()) {
    throw error(
        errc::invalid_argument,
        fmt::format("{}: agents of torchrun hold no secret, so that it cannot be used with "
                    "dialect={}",
                    parameters.name_of("secret_file"), to_text(*dialect)));
  }
  parameters.refuse_choice_of_nodes("a job with a dialect");
  return dialect;
}

/// A numeric address by which the others reach this node: the one on the route to the store.
inline task<std::string> address_towards_store(std::string host) {
  const auto addresses = co_await resolve_addresses(host);
  auto executor = co_await asio::this_coro::executor;
  for (const auto& address : addresses) {
    const asio::ip::address own = address_towards(executor, address);
    if (!own.is_unspecified()) co_return own.to_string();
  }
  co_return own_loopback(executor, host);
}

/// The store of a node of torchrun, or of a node of elasticrun with a dialect.
/// Errors: `errc::rendezvous_timeout`; a one-line error if nodes of elasticrun meet there.
inline task<std::shared_ptr<tcp_store>> connect_to_torch(rendezvous_parameters parameters,
                                                         endpoint address,
                                                         std::optional<torch_dialect> dialect) {
  tcp_store::options options;
  options.host = address.host;
  options.port = address.port;
  options.generation = tcp_store_generation::probe;
  options.log = parameters.log;
  options.time = parameters.time;
  auto client = new_shared<tcp_store>(co_await asio::this_coro::executor, options);
  time_source& time = *parameters.time;
  const duration patience =
      dialect ? parameters.settings().join_timeout : duration(torch_store_patience);
  const bool is_there = co_await with_deadline(time, time.now() + patience, client->connect());
  if (!is_there) {
    throw error(
        errc::rendezvous_timeout,
        fmt::format("no store answered at {} within {} s: {}", to_text(address),
                    std::chrono::duration<double>(patience).count(), client->last_problem()));
  }
  std::vector<std::string> keys(1, std::string(rendezvous_host::native_key));
  const bool is_native = co_await client->check(std::move(keys));
  if (!is_native) co_return client;
  if (!dialect) {
    throw error(errc::connection_failed, fmt::format("the store of torchrun at {} has gone, and "
                                                     "nodes of elasticrun meet there now",
                                                     to_text(address)));
  }
  throw error(errc::invalid_argument,
              fmt::format("the nodes at {} meet in elasticrun's own way: for a mixed job start "
                          "every node of elasticrun with {}={}",
                          to_text(address), parameters.name_of("dialect"), to_text(*dialect)));
}

/// The dialect of the state; if nobody has written one, that of the server's generation.
inline task<torch_dialect> detect_dialect(rendezvous_parameters parameters,
                                          std::shared_ptr<tcp_store> client) {
  time_source& time = *parameters.time;
  const time_point limit = time.now() + first_state_patience;
  while (time.now() < limit) {
    const std::optional<torch_dialect> written =
        co_await store_rendezvous_backend::seen_dialect(client, parameters.run_id);
    if (written) co_return *written;
    co_await time.sleep_until(time.now() + first_state_pause);
  }
  co_return client->generation() == tcp_store_generation::torch_2_2 ? torch_dialect::torch_2_6
                                                                    : torch_dialect::torch_1_13;
}

/// The rendezvous of nodes that meet like those of torchrun. With a dialect, this node may serve
/// the store.
inline task<std::shared_ptr<rendezvous_handler>> meet_as_torch(
    rendezvous_parameters parameters, endpoint server, std::optional<torch_dialect> dialect) {
  dynamic_rendezvous_options options;
  options.parameters = parameters;
  options.node = new_node(parameters.shown_host());
  options.address = co_await address_towards_store(server.host);
  std::shared_ptr<key_value_engine> engine;
  if (dialect) {
    options.host = co_await rendezvous_host::try_host(server, parameters.yes_or_no("is_host"),
                                                      parameters, rendezvous_protocol::torch);
  }
  if (options.host) {
    engine = options.host->engine();
    options.agents = detail::internals::make<memory_store>(engine);
    options.dialect = *dialect;
  } else {
    const std::shared_ptr<tcp_store> client =
        co_await connect_to_torch(parameters, server, dialect);
    options.agents = client;
    options.dialect = dialect ? *dialect : co_await detect_dialect(parameters, client);
  }
  options.backend = new_shared<store_rendezvous_backend>(
      options.agents, parameters.run_id, options.dialect, parameters.time, engine);
  parameters.log.info("{} the store at {}, meeting as agents of PyTorch {} do",
                      options.host ? "serving" : "using", to_text(server),
                      to_text(options.dialect));
  co_return new_shared<dynamic_rendezvous>(std::move(options));
}

/// The rendezvous of nodes of elasticrun, unless the store belongs to torchrun, or to a node with a
/// dialect.
inline task<std::shared_ptr<rendezvous_handler>> choose_c10d(
    rendezvous_parameters parameters, endpoint address, std::shared_ptr<c10d_rendezvous> native,
    std::shared_ptr<rendezvous_handler>& tried) {
  tried = native;
  try {
    co_await native->meet();
    co_return native;
  } catch (const error& failure) {
    if (failure.code() != errc::not_supported) throw;
    parameters.log.debug("meeting in torchrun's way: {}", failure.what());
  }
  co_await native->shutdown();
  tried.reset();
  parameters.refuse_choice_of_nodes("torchrun, which serves the rendezvous here,");
  co_return co_await meet_as_torch(std::move(parameters), std::move(address), std::nullopt);
}

/// A rendezvous of nodes of elasticrun that rejects nodes of torchrun.
inline std::shared_ptr<c10d_rendezvous> make_native_beside_torch(
    const rendezvous_parameters& parameters) {
  auto native = new_shared<c10d_rendezvous>(parameters);
  native->meet_beside_torch([run_id = parameters.run_id, setting = parameters.name_of("dialect"),
                             log = parameters.log](std::shared_ptr<key_value_engine> table) {
    auto watch = new_shared<torch_agent_watch>(std::move(table), run_id, setting, log);
    watch->begin();
    return watch;
  });
  return native;
}

}  // namespace detail

ELASTIC_DECL rendezvous_factory make_torch_rendezvous(rendezvous_parameters parameters) {
  if (parameters.max_nodes == 1) return detail::new_shared<detail::stored_rendezvous>(parameters);
  // Nodes of torchrun support only one endpoint.
  if (parameters.endpoint.find(',') != std::string::npos) {
    return detail::make_candidate_rendezvous(std::move(parameters));
  }
  const std::optional<detail::torch_dialect> dialect = detail::announced_dialect(parameters);
  // With a dialect, it is only used to check the settings.
  auto native = detail::make_native_beside_torch(parameters);
  const endpoint address =
      parse_endpoint(parameters.endpoint.empty() ? "localhost" : parameters.endpoint,
                     detail::c10d_port);
  const std::string run_id = parameters.run_id;
  rendezvous_factory::chooser choose;
  if (dialect) {
    choose = [parameters = std::move(parameters), address,
              dialect](std::shared_ptr<rendezvous_handler>&) {
      return detail::meet_as_torch(parameters, address, dialect);
    };
  } else {
    choose = [parameters = std::move(parameters), address,
              native = std::move(native)](std::shared_ptr<rendezvous_handler>& tried) {
      return detail::choose_c10d(parameters, address, native, tried);
    };
  }
  return {"c10d", run_id, std::move(choose)};
}

ELASTIC_DECL void add_torch_rendezvous(rendezvous_registry& registry) {
  add_candidates(registry);
  detail::add_library_backend(registry, "c10d", detail::backend_capability::nodes_of_torchrun,
                              make_torch_rendezvous);
}

}  // namespace elastic
