// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/gather.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL std::vector<std::string> rank_keys(const std::string& prefix, int size,
                                                const std::string& suffix) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < size; ++rank) keys.push_back(prefix + std::to_string(rank) + suffix);
  return keys;
}

ELASTIC_DECL task<std::vector<std::string>> publish_and_read(std::shared_ptr<store> agents,
                                                             std::string prefix, std::string mine,
                                                             int rank, int size) {
  const std::string my_key = prefix + std::to_string(rank);
  co_await agents->set(my_key, std::move(mine));
  std::vector<std::string> keys = rank_keys(prefix, size, "");
  std::vector<std::string> values = co_await agents->multi_get(std::move(keys));
  const std::string my_end = my_key + gathered_suffix;
  const std::string fin = "FIN";
  co_await agents->set(my_end, fin);
  co_return values;
}

ELASTIC_DECL task<void> wait_for_readers(std::shared_ptr<store> agents, std::string prefix,
                                         int size) {
  std::vector<std::string> ends = rank_keys(prefix, size, gathered_suffix);
  co_await agents->wait(std::move(ends));
}

ELASTIC_DECL task<std::vector<std::string>> gather(std::shared_ptr<store> agents,
                                                   std::string prefix, std::string mine, int rank,
                                                   int size) {
  std::vector<std::string> values =
      co_await publish_and_read(agents, prefix, std::move(mine), rank, size);
  if (rank == 0) co_await wait_for_readers(agents, prefix, size);
  co_return values;
}

}  // namespace elastic::detail
