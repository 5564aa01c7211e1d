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
/// workers in the same job read the same keys. An attempt never sees the keys of an earlier one.
ELASTIC_DECL std::string worker_store_prefix(const worker_context& context);

/// Connects to the store that the workers of a job share, at the master's address. Retries until
/// `timeout` as long as nothing listens there.
///
/// If an agent serves the store (`context.use_agent_store`, always with `elasticrun --standalone`),
/// there is nothing else to do. Otherwise the worker of rank 0 must first serve it with its own
/// `tcp_store_server` at that address. `generation` is the server's protocol: the default is right
/// for elasticrun and for torchrun since 2.2.
///
/// Result: a connected client, on the executor of the caller, with the prefix
/// `worker_store_prefix`.
/// Errors: `errc::timed_out`; the message names the address and the last problem;
/// `errc::protocol_violation` if the server speaks another protocol.
/// Cancellation: all types; leaves nothing behind.
ELASTIC_DECL task<std::shared_ptr<store>> connect_worker_store(
    worker_context context, std::chrono::milliseconds timeout = std::chrono::seconds(60),
    tcp_store_generation generation = tcp_store_generation::torch_2_2);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/worker/impl/worker_store.ipp>
#endif
