// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/rendezvous_host.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/tcp_message_channel.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/store/tcp_store.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL task<std::unique_ptr<rendezvous_host>> rendezvous_host::try_host(
    endpoint server, std::optional<bool> decided, rendezvous_parameters parameters,
    rendezvous_protocol protocol, std::shared_ptr<store_extension> service) {
  if (decided == false) co_return nullptr;
  auto executor = co_await asio::this_coro::executor;
  const auto addresses = co_await resolve_addresses(server.host);
  const std::function<bool(const asio::ip::address&)> is_own =
      [&executor](const asio::ip::address& address) { return is_local_address(executor, address); };
  const bool is_ours = std::any_of(addresses.begin(), addresses.end(), is_own);
  if (!is_ours && !decided) co_return nullptr;
  listen_point point;
  const bool is_alone = is_loopback(server.host);
  if (is_alone || !parameters.listens_everywhere()) {
    point = choose_listen_point(server.host, addresses, is_own);
  }
  const std::string reached = point.address.empty() ? "this host" : "it at " + point.address;
  try {
    auto host = std::make_unique<rendezvous_host>(executor, std::move(point), server.port,
                                                  parameters, protocol, std::move(service));
    log_open_port(parameters, server.host, server.port, reached);
    co_return host;
  } catch (const error& failure) {
    if (failure.code() != errc::address_in_use || decided) throw;
  }
  co_return nullptr;
}

ELASTIC_DECL task<bool> rendezvous_host::is_of_this_host(endpoint server) {
  const auto executor = co_await asio::this_coro::executor;
  const auto addresses = co_await resolve_addresses(server.host);
  const auto is_own = [&executor](const asio::ip::address& address) {
    return is_local_address(executor, address);
  };
  co_return std::any_of(addresses.begin(), addresses.end(), is_own);
}

ELASTIC_DECL rendezvous_host::rendezvous_host(asio::any_io_executor executor, listen_point point,
                                              std::uint16_t port,
                                              const rendezvous_parameters& parameters,
                                              rendezvous_protocol protocol,
                                              std::shared_ptr<store_extension> service) {
  tcp_store_server::options options;
  options.address = std::move(point.address);
  options.besides = std::move(point.besides);
  options.port = port;
  options.use_ring = parameters.use_ring;
  options.secret = parameters.secret;
  options.log = parameters.log;
  options.time = parameters.time;
  internals::of(options).meter = internals::of(parameters).meter;
  if (service) {
    internals::of(options).extension = std::move(service);
  } else if (protocol == rendezvous_protocol::native) {
    meeting_ = new_shared<rendezvous_service>(parameters.log, parameters.time);
    meeting_->set_own_job(parameters.run_id, parameters.settings());
    const auto& reports = internals::of(parameters).reports;
    if (reports) meeting_->show(parameters.run_id, reports);
    internals::of(options).extension = meeting_;
  }
  server_ = std::make_unique<tcp_store_server>(std::move(executor), std::move(options));
  if (protocol == rendezvous_protocol::native) engine()->set("/" + std::string(native_key), "");
}

ELASTIC_DECL void rendezvous_host::forget_rounds(const std::string& run_id,
                                                 std::int64_t first_kept) {
  const std::string prefix = fmt::format("/torch.rendezvous.{}.", run_id);
  const auto is_forgotten = [&](std::string_view key) {
    if (!key.starts_with(prefix)) return false;
    const std::string_view rest = key.substr(prefix.size());
    const std::size_t end = rest.find('/');
    if (end == std::string_view::npos) return false;
    std::int64_t round = 0;
    const auto [stop, failure] = std::from_chars(rest.data(), rest.data() + end, round);
    if (failure != std::errc() || stop != rest.data() + end || round >= first_kept) return false;
    return !key.ends_with("/MASTER_ADDR") && !key.ends_with("/MASTER_PORT");
  };
  std::vector<std::string> keys;
  engine()->for_each_key([&](std::string_view key) {
    if (is_forgotten(key)) keys.emplace_back(key);
  });
  for (const std::string& key : keys) engine()->erase(key);
}

ELASTIC_DECL void rendezvous_host::show(std::string run_id,
                                        std::shared_ptr<report_exchange> reports) {
  if (meeting_) meeting_->show(std::move(run_id), std::move(reports));
}

ELASTIC_DECL task<void> rendezvous_host::stop() { return server_->stop(); }

ELASTIC_DECL std::shared_ptr<message_connector> make_rendezvous_connector(
    endpoint address, const rendezvous_parameters& parameters, std::size_t most_bytes) {
  return new_shared<tcp_message_connector>(std::move(address),
                                           std::string(rendezvous_service::first_words), most_bytes,
                                           parameters.secret);
}

ELASTIC_DECL std::shared_ptr<store> make_agents_store(asio::any_io_executor executor,
                                                      endpoint address,
                                                      const rendezvous_parameters& parameters) {
  tcp_store::options options;
  options.host = std::move(address.host);
  options.port = address.port;
  options.secret = parameters.secret;
  options.log = parameters.log;
  return new_shared<tcp_store>(std::move(executor), std::move(options));
}

ELASTIC_DECL void log_open_port(const rendezvous_parameters& parameters, const std::string& host,
                                std::uint16_t port, std::string_view reached) {
  if (is_loopback(host) || parameters.secret) return;
  parameters.log.info(
      "port {} is open to anyone who can reach {}: with {}, only those who hold the job's secret "
      "get in",
      port, reached, parameters.name_of("secret_file"));
}

}  // namespace elastic::detail
