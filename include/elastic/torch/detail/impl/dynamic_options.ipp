// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/dynamic_options.hpp>

#include <elastic/base/error.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/detail/reachable_address.hpp>

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

}  // namespace elastic::detail
