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

/// Writes this rank's text, reads those of all ranks, and then marks that this rank has read them.
ELASTIC_DECL task<std::vector<std::string>> publish_and_read(std::shared_ptr<store> agents,
                                                             std::string prefix, std::string mine,
                                                             int rank, int size);

/// Waits until all ranks have marked that they have read.
ELASTIC_DECL task<void> wait_for_readers(std::shared_ptr<store> agents, std::string prefix,
                                         int size);

/// Exchanges one text with every agent of a round. Result: all texts, in the order of the ranks.
/// Rank 0 ends last, because it may serve the store.
///
/// Limit the wait with `with_deadline`. Errors: those of the store.
/// Cancellation: all types; values already written stay in the store.
/// Source: torch.distributed.elastic.utils.store, `synchronize` (PyTorch up to 2.3).
ELASTIC_DECL task<std::vector<std::string>> gather(std::shared_ptr<store> agents,
                                                   std::string prefix, std::string mine, int rank,
                                                   int size);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/gather.ipp>
#endif
