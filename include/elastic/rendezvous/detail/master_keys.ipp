// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/master_keys.hpp>

#include <elastic/base/error.hpp>

#include <charconv>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL task<void> publish_master(std::shared_ptr<store> agents,
                                       rendezvous_round::master_endpoint master) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back("MASTER_ADDR", master.address);
  pairs.emplace_back("MASTER_PORT", std::to_string(master.port));
  co_await agents->multi_set(std::move(pairs));
}

ELASTIC_DECL task<rendezvous_round::master_endpoint> read_master(std::shared_ptr<store> agents) {
  std::vector<std::string> keys;
  keys.push_back("MASTER_ADDR");
  keys.push_back("MASTER_PORT");
  const std::vector<std::string> values = co_await agents->multi_get(std::move(keys));
  rendezvous_round::master_endpoint master;
  master.address = values[0];
  const char* end = values[1].data() + values[1].size();
  const auto [stop, failure] = std::from_chars(values[1].data(), end, master.port);
  if (master.address.empty() || failure != std::errc() || stop != end || master.port == 0) {
    throw error(errc::protocol_violation,
                fmt::format("the node of rank 0 reported that the workers meet at '{:.200}', port "
                            "'{:.20}'",
                            values[0], values[1]));
  }
  co_return master;
}

ELASTIC_DECL task<rendezvous_round::master_endpoint> agree_on_master(
    std::shared_ptr<store> agents, rendezvous_round::master_endpoint mine, int group_rank) {
  if (group_rank == 0) {
    co_await publish_master(std::move(agents), mine);
    co_return mine;
  }
  rendezvous_round::master_endpoint master = co_await read_master(std::move(agents));
  master.served_by_agent = mine.served_by_agent;
  co_return master;
}

}  // namespace elastic::detail
