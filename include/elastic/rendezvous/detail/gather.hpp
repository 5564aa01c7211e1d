// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

/// The keys "<prefix><rank><suffix>" of all ranks.
ELASTIC_DECL std::vector<std::string> rank_keys(const std::string& prefix, int size,
                                                const std::string& suffix);

inline const std::string gathered_suffix = ".FIN";

/// Tells and learns; says then that this rank has.
ELASTIC_DECL task<std::vector<std::string>> tell_and_read(std::shared_ptr<store> agents,
                                                          std::string prefix, std::string mine,
                                                          int rank, int size);

/// Waits until all have said that they have learnt it.
ELASTIC_DECL task<void> wait_for_readers(std::shared_ptr<store> agents, std::string prefix,
                                         int size);

/// Tells every agent of a round a text and learns theirs, in the order of their ranks. Rank 0 ends
/// last: it may be the one that serves the store.
///
/// Bound the wait by `with_deadline`. Errors: those of the store.
/// Cancellation: all types; values that were written stay in the store.
/// Source: torch.distributed.elastic.utils.store, `synchronize` (PyTorch up to 2.3).
ELASTIC_DECL task<std::vector<std::string>> gather(std::shared_ptr<store> agents,
                                                   std::string prefix, std::string mine, int rank,
                                                   int size);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/impl/gather.ipp>
#endif
