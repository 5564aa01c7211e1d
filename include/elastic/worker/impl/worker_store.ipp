// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/worker/worker_store.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::string worker_store_prefix(const worker_context& context) {
  return fmt::format("/worker/attempt_{}", context.restart_count);
}

ELASTIC_DECL task<std::shared_ptr<store>> connect_worker_store(worker_context context,
                                                               std::chrono::milliseconds timeout,
                                                               tcp_store_generation generation) {
  tcp_store::options options;
  options.host = context.master_addr;
  options.port = context.master_port;
  options.generation = generation;
  options.time = detail::new_shared<system_time>();
  auto client = detail::new_shared<tcp_store>(co_await asio::this_coro::executor, options);
  const time_point deadline = options.time->now() + timeout;
  if (!co_await with_deadline(*options.time, deadline, client->connect())) {
    throw error(errc::timed_out,
                fmt::format("no store answered at {}:{} within {} ms: {}", context.master_addr,
                            context.master_port, timeout.count(), client->last_problem()));
  }
  co_return detail::new_shared<prefix_store>(worker_store_prefix(context), std::move(client));
}

}  // namespace elastic
