// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/tcp_store_generation.hpp>
#include <elastic/worker/worker_context.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace elastic {

/// The prefix under which the workers of one attempt keep their keys: that of PyTorch 1.13, whose
/// workers in the same job read the same keys. An attempt never sees what one before it left.
ELASTIC_DECL std::string worker_store_prefix(const worker_context& context);

/// Connects to the store that the workers of a job share, at the master's address, and tries again
/// until `timeout` is over while nothing listens there.
///
/// Where an agent serves it (`context.use_agent_store`: always under `elasticrun --standalone`)
/// there is nothing else to do. Where none does, the worker of rank 0 serves it first, with a
/// `tcp_store_server` of its own at that address. `generation` is what the server understands: the
/// default is right for elasticrun and for torchrun since 2.2.
///
/// Result: a client that is connected, on the executor of the caller, under `worker_store_prefix`.
/// Errors: `errc::timed_out`, naming the address and what was wrong last;
/// `errc::protocol_violation` if something else answers there.
/// Cancellation: all types; nothing is left behind.
ELASTIC_DECL task<std::shared_ptr<store>> connect_worker_store(
    worker_context context, std::chrono::milliseconds timeout = std::chrono::seconds(60),
    tcp_store_generation generation = tcp_store_generation::torch_2_2);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/worker/impl/worker_store.ipp>
#endif
