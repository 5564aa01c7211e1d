// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_generation.hpp>
#include <elastic/worker/worker_context.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The prefix under which the workers of one attempt keep their keys: that of PyTorch 1.13, whose
/// workers in the same job read the same keys. An attempt never sees what one before it left.
inline std::string worker_store_prefix(const worker_context& context) {
  return fmt::format("/worker/attempt_{}", context.restart_count);
}

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
/// `errc::protocol_violation` where something else answers there.
/// Cancellation: all types; nothing is left behind.
inline task<std::shared_ptr<store>> connect_worker_store(
    worker_context context, std::chrono::milliseconds timeout = std::chrono::seconds(60),
    tcp_store_generation generation = tcp_store_generation::torch_2_2) {
  tcp_store_options options;
  options.host = context.master_addr;
  options.port = context.master_port;
  options.generation = generation;
  options.time = std::make_shared<system_time>();
  auto client = std::make_shared<tcp_store>(co_await asio::this_coro::executor, options);
  const time_point deadline = options.time->now() + timeout;
  if (!co_await with_deadline(*options.time, deadline, client->connect())) {
    throw error(errc::timed_out,
                fmt::format("no store answered at {}:{} within {} ms: {}", context.master_addr,
                            context.master_port, timeout.count(), client->last_problem()));
  }
  co_return std::make_shared<prefix_store>(worker_store_prefix(context), std::move(client));
}

}  // namespace elastic
