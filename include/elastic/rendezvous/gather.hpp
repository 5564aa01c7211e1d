// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/store/store.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

namespace detail {

/// The keys "<prefix><rank><suffix>" of all ranks.
inline std::vector<std::string> rank_keys(const std::string& prefix, int size,
                                          const std::string& suffix) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < size; ++rank) keys.push_back(prefix + std::to_string(rank) + suffix);
  return keys;
}

inline const std::string gathered_suffix = ".FIN";

/// Tells and learns; says then that this rank has.
inline task<std::vector<std::string>> tell_and_read(std::shared_ptr<store> agents,
                                                    std::string prefix, std::string mine,
                                                    int rank, int size) {
  const std::string my_key = prefix + std::to_string(rank);
  co_await agents->set(my_key, std::move(mine));
  std::vector<std::string> keys = rank_keys(prefix, size, "");
  std::vector<std::string> told = co_await agents->multi_get(std::move(keys));
  const std::string my_end = my_key + gathered_suffix;
  const std::string fin = "FIN";
  co_await agents->set(my_end, fin);
  co_return told;
}

/// Waits until all have said that they have learnt it.
inline task<void> wait_for_readers(std::shared_ptr<store> agents, std::string prefix, int size) {
  std::vector<std::string> ends = rank_keys(prefix, size, gathered_suffix);
  co_await agents->wait(std::move(ends));
}

}  // namespace detail

/// Tells every agent of a round a text and learns theirs, in the order of their ranks. Rank 0 ends
/// last: it may be the one that serves the store.
///
/// Bound the wait by `with_deadline`. Errors: those of the store.
/// Cancellation: all types; what was told stays in the store.
/// Source: torch.distributed.elastic.utils.store, `synchronize` (PyTorch up to 2.3).
inline task<std::vector<std::string>> gather(std::shared_ptr<store> agents, std::string prefix,
                                             std::string mine, int rank, int size) {
  std::vector<std::string> told =
      co_await detail::tell_and_read(agents, prefix, std::move(mine), rank, size);
  if (rank == 0) co_await detail::wait_for_readers(agents, prefix, size);
  co_return told;
}

}  // namespace elastic
