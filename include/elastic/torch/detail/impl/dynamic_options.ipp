// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/dynamic_options.hpp>

#include <elastic/base/error.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/torch/detail/host_loss.hpp>
#include <elastic/torch/detail/link_network.hpp>
#include <elastic/torch/detail/reachable_address.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL task<dynamic_rendezvous_options> dynamic_options(rendezvous_parameters parameters,
                                                              std::vector<std::string> towards) {
  dynamic_rendezvous_options options;
  options.node = new_unnumbered_node(parameters.shown_host());
  const bool stays_here = is_loopback(parameters.local_addr);
  if (!stays_here) options.address = co_await reachable_address(std::move(towards));
  options.parameters = std::move(parameters);
  co_return options;
}

ELASTIC_DECL void check_links(const rendezvous_parameters& parameters) {
  const bool are_linked = parameters.yes_or_no("links").value_or(true);
  if (!are_linked || parameters.settings().reconnect_grace >= host_loss::shortest_grace) return;
  throw error(errc::invalid_argument,
              "--rdzv-conf reconnect_grace: at least 0.25 s, or links=no, by which agents do not "
              "connect to each other");
}

ELASTIC_DECL std::shared_ptr<link_network> chosen_links(const dynamic_rendezvous_options& options) {
  if (!options.parameters.yes_or_no("links").value_or(true)) return nullptr;
  return std::make_shared<tcp_link_network>(options.parameters, options.address);
}

}  // namespace elastic::detail
